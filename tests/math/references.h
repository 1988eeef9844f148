/* Functions in double, not made with this library: what those of f32 are compared with.  Where the C library has none,
 * they are solved in long double. */
#ifndef CUJIT_TESTS_REFERENCES_H
#define CUJIT_TESTS_REFERENCES_H

double ref_sinpi(double x);
double ref_cospi(double x);
double ref_tanpi(double x);
double ref_lgamma(double x);
double ref_tgamma(double x);
double ref_erfinv(double y);
double ref_erfcinv(double y);
double ref_erfcx(double x);
double ref_normcdf(double x);
double ref_normcdfinv(double p);
double ref_pow(double x, double y);
double ref_sigmoid(double x);
double ref_silu(double x);
double ref_gelu(double x);
double ref_gelu_tanh(double x);
double ref_softplus(double x);

#endif
