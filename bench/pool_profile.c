/* Profiles: what one that is on costs, and how far its times are from the device's own clock.
 *
 * Kernels of 200 us run one after the other on one stream, in blocks that alternate between off and on.  Each kernel
 * notes the device's clock (globaltimer) when it begins and when it ends; the record of the profile has a time too. */
#include <stdlib.h>
#include <string.h>

#include "bench/pool_bench.h"

enum { PROFILE_KERNELS = 200, PROFILE_ROUNDS = 9, PROFILE_NS = 200000 };

static const char timed_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry timed(.param .u64 .ptr .global to, .param .u32 ns)\n{\n"
    " .reg .u32 %r<2>;\n .reg .u64 %t<6>;\n .reg .pred %p;\n"
    " ld.param.u64 %t5, [to];\n ld.param.u32 %r1, [ns];\n cvt.u64.u32 %t1, %r1;\n mov.u64 %t2, %globaltimer;\n"
    "again:\n mov.u64 %t3, %globaltimer;\n sub.u64 %t4, %t3, %t2;\n setp.lt.u64 %p, %t4, %t1;\n @%p bra again;\n"
    " st.global.u64 [%t5], %t2;\n st.global.u64 [%t5+8], %t3;\n ret;\n}\n";

typedef struct profile_bench {
    pool_bench *b;
    cj_stream *s;
    cj_kernel *k;
    cj_dptr times;
    cj_profile *p;
    uint32_t kernels, ns;
} profile_bench;

/* Wall time of a block of kernels. */
static double profile_block(profile_bench *x)
{
    const double from = pool_now_ns();
    for (uint32_t i = 0; i < x->kernels; i++)
        pool_need(x->b, cj_launch(x->s, x->k, cj_grid(1, 1), cj_offset(x->times, 16 * (int64_t)i), x->ns));
    pool_need(x->b, cj_stream_sync(x->s));
    return pool_now_ns() - from;
}

static void profile_cost(profile_bench *x)
{
    double off[PROFILE_ROUNDS], on[PROFILE_ROUNDS];
    profile_block(x);
    for (int i = 0; i < PROFILE_ROUNDS && !x->b->failed; i++) {
        off[i] = profile_block(x);
        pool_need(x->b, cj_profile_on(x->p));
        on[i] = profile_block(x);
        pool_need(x->b, cj_profile_off(x->p));
        if (i + 1 < PROFILE_ROUNDS) pool_need(x->b, cj_profile_clear(x->p));
    }
    if (x->b->failed) return;
    const double plain = bench_median(off, PROFILE_ROUNDS), with = bench_median(on, PROFILE_ROUNDS);
    pool_report(x->b, "profiler.on_cost", 100 * (with / plain - 1), "percent");
    pool_report(x->b, "profiler.kernel_us", plain / x->kernels / 1e3, "us");
}

/* The records of the last block beside the times that its kernels noted.  The first of them may have waited for the
 * host. */
static void profile_error(profile_bench *x)
{
    cj_profile_record *rec = calloc(x->kernels, sizeof *rec);
    uint64_t *noted = calloc(2 * x->kernels, sizeof *noted);
    double *error = calloc(x->kernels, sizeof *error);
    if (rec && noted && error) {
        pool_need(x->b, cj_copy_to_host(x->s, noted, x->times, 16 * x->kernels));
        pool_need(x->b, cj_stream_sync(x->s));
        const size_t n = cj_profile_poll(x->p, rec, x->kernels);
        if (n != x->kernels) x->b->failed = true;
        for (size_t i = 1; i < n; i++) {
            const double by_kernel = (double)(noted[2 * i + 1] - noted[2 * i]);
            const double difference = (double)(rec[i].end - rec[i].start) - by_kernel;
            error[i - 1] = (difference < 0 ? -difference : difference) / 1e3;
        }
        if (n > 2) {
            pool_report(x->b, "profiler.error_us", bench_median(error, n - 1), "us");
            pool_report(x->b, "profiler.error_most_us", error[n - 2], "us");
        }
    }
    free(rec);
    free(noted);
    free(error);
}

void pool_profile(pool_bench *b)
{
    profile_bench x = { .b = b, .kernels = b->gpu ? PROFILE_KERNELS : 40, .ns = PROFILE_NS };
    cj_module *mod = cj_module_load_text(b->dev, timed_text, NULL);
    x.s = cj_stream_create(b->dev, NULL);
    x.k = cj_module_kernel(mod, "timed");
    x.p = cj_profile_create(NULL);
    cj_module_free(mod);
    pool_need_object(b, x.s);
    pool_need_object(b, x.k);
    if (!b->failed) {
        x.times = cj_alloc(x.s, 16 * x.kernels);
        pool_need_object(b, x.s);
    }
    if (!b->failed) profile_cost(&x);
    if (!b->failed) profile_error(&x);
    if (x.times.addr) cj_free(b->dev, x.times);
    cj_profile_free(x.p);
    cj_kernel_free(x.k);
    cj_stream_free(x.s);
}
