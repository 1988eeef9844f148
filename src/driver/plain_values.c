/* Dimensions and arguments through pointers, for languages that have no C inline functions. */
#include <cujit/launch.h>

void cj_dims_set(cj_dims *dims, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz)
{
    if (dims) *dims = cj_grid3(gx, gy, gz, bx, by, bz);
}

void cj_dims_threads(cj_dims *dims, uint64_t threads, uint32_t block)
{
    if (dims) *dims = cj_threads(threads, block);
}

void cj_dims_shared_set(cj_dims *dims, uint32_t bytes)
{
    if (dims) dims->shared = bytes;
}

void cj_dims_opts_set(cj_dims *dims, const cj_launch_opts *opts)
{
    if (dims) dims->opts = opts;
}

void cj_launch_defaults(cj_launch_opts *opts)
{
    if (opts) *opts = (cj_launch_opts){ .size = sizeof *opts };
}

void cj_arg_set_i(cj_arg *arg, int64_t x)
{
    if (arg) *arg = cj_arg_i(x);
}

void cj_arg_set_u(cj_arg *arg, uint64_t x)
{
    if (arg) *arg = cj_arg_u(x);
}

void cj_arg_set_f32(cj_arg *arg, float x)
{
    if (arg) *arg = cj_arg_f32(x);
}

void cj_arg_set_f64(cj_arg *arg, double x)
{
    if (arg) *arg = cj_arg_f64(x);
}

void cj_arg_set_ptr(cj_arg *arg, cj_dptr x)
{
    if (arg) *arg = cj_arg_ptr(x);
}

void cj_arg_set_bytes(cj_arg *arg, const void *p, size_t bytes)
{
    if (arg) *arg = cj_arg_bytes(p, bytes);
}
