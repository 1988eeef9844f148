/* Functions in long double, not made with this library: what those of f64 are compared with.  Where the C library has
 * none, they are made of its functions with what double has lost carried along. */
#ifndef CUJIT_TESTS_WIDE_REFERENCES_H
#define CUJIT_TESTS_WIDE_REFERENCES_H

long double wide_sinpi(double x);
long double wide_cospi(double x);
long double wide_tanpi(double x);
long double wide_erfcx(double x);
long double wide_normcdf(double x);
long double wide_erfinv(double y);
long double wide_erfcinv(double y);
long double wide_normcdfinv(double p);
long double wide_lgamma(double x);
long double wide_tgamma(double x);
long double wide_sigmoid(double x);
long double wide_silu(double x);
long double wide_gelu(double x);
long double wide_gelu_tanh(double x);
long double wide_softplus(double x);

#endif
