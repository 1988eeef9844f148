/* Kernels of collectives: to[i] = op(to[i], from[i]), built and loaded when they are needed first. */
#include <cujit/launch.h>
#include <cujit/ptx.h>
#include <stdio.h>

#include "stream/coordinate/coord.h"

static cj_val combine_op(cj_fn *f, cj_reduce_op op, cj_val a, cj_val b)
{
    switch (op) {
    case CJ_REDUCE_MIN: return cj_min(f, a, b);
    case CJ_REDUCE_MAX: return cj_max(f, a, b);
    case CJ_REDUCE_PRODUCT: return cj_mul(f, a, b);
    default: return cj_add(f, a, b);
    }
}

static cj_ptx *combine_build(cj_type type, cj_reduce_op op)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "combine");
    cj_val to = cj_param_ptr(f, "to", type), from = cj_param_ptr(f, "from", type), n = cj_param(f, "n", CJ_U32);
    cj_val first = cj_global_id(f, CJ_X), step = cj_global_size(f, CJ_X);
    cj_val i = cj_for(f, first, n, step);
    cj_val a = cj_get(f, to, i);
    cj_val b = cj_get(f, from, i);
    cj_set(f, to, i, combine_op(f, op, a, b));
    cj_end(f);
    return m;
}

/* With the lock held. */
static cj_kernel *combine_known(const cj_coord *c, int device, cj_type type, cj_reduce_op op)
{
    for (size_t k = 0; k < c->kernels; k++)
        if (c->kernel[k].device == device && c->kernel[k].type == type && c->kernel[k].op == op)
            return c->kernel[k].k;
    return NULL;
}

/* Notes a kernel, unless another thread has loaded the same one meanwhile.  With the lock held. */
static cj_kernel *combine_note(cj_coord *c, cj_kernel *k, int device, cj_type type, cj_reduce_op op, const char *call)
{
    cj_kernel *known = combine_known(c, device, type, op);
    if (!known && cji_grow(&c->kernel, &c->kernel_cap, c->kernels + 1, sizeof *c->kernel)) {
        c->kernel[c->kernels++] = (cji_coord_kernel){ k, (uint16_t)device, (uint8_t)type, (uint8_t)op };
        return k;
    }
    if (!known) cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    cj_kernel_free(k);
    return known;
}

cj_kernel *cji_coord_combine(cj_coord *c, cj_device *dev, cj_type type, cj_reduce_op op, const char *call)
{
    cji_coord_lock(c);
    const int device = cji_coord_device_of(c, dev, call);
    cj_kernel *k = device < 0 ? NULL : combine_known(c, device, type, op);
    cji_coord_unlock(c);
    if (k || device < 0) return k;
    cj_ptx *m = combine_build(type, op);
    k = cj_kernel_load(dev, m, "combine", NULL);
    cj_ptx_free(m);
    if (cji_obj_failed(k)) {
        cji_fail_from(c, k, call);
        cj_kernel_free(k);
        return NULL;
    }
    cji_coord_lock(c);
    k = combine_note(c, k, device, type, op, call);
    cji_coord_unlock(c);
    return k;
}

void cji_coord_kernels_close(cj_coord *c)
{
    for (size_t k = 0; k < c->kernels; k++) cj_kernel_free(c->kernel[k].k);
    cji_free(c->kernel, c->kernel_cap * sizeof *c->kernel);
}
