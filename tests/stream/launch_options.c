/* Attributes of launches: each reaches the driver with cuLaunchKernelEx; a value out of range is rejected by name;
 * prepared launches, captures and nodes have them too. */
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64 };

static int plain_calls, extended_calls;

static void count(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)text, (void)result;
    plain_calls += !strcmp(name, "cuLaunchKernel");
    extended_calls += !strcmp(name, "cuLaunchKernelEx");
}

static uint32_t first(void)
{
    uint32_t out = 0;
    cj_copy_to_host(s, &out, d, sizeof out);
    cj_stream_sync(s);
    return out;
}

/* What a device may lack is CJ_ENOTSUP, with the reason. */
static void check_options(void)
{
    const struct { const char *name; const cj_launch_opts *opts; } rows[] = {
        { "programmatic", CJ_LAUNCH(.programmatic = 1) },
        { "a priority", CJ_LAUNCH(.has_priority = 1, .priority = -1) },
        { "a cluster policy", CJ_LAUNCH(.cluster_policy = CJ_CLUSTER_SPREAD) },
        { "the remote domain", CJ_LAUNCH(.remote_domain = 1) },
        { "domains", CJ_LAUNCH(.has_domains = 1, .domain_default = 0, .domain_remote = 1) },
        { "a carveout", CJ_LAUNCH(.carveout = 50) },
        { "no carveout", CJ_LAUNCH(.carveout = CJ_CARVEOUT_NONE) },
        { "a window", CJ_LAUNCH(.window = d, .window_bytes = 4 * N, .window_ratio = 0.5f,
                                .window_hit = CJ_ACCESS_PERSISTING, .window_miss = CJ_ACCESS_STREAMING) },
        { "a preferred cluster", CJ_LAUNCH(.preferred_cluster = { 2, 1, 1 }) },
        { "NVLink", CJ_LAUNCH(.nvlink_centric = 1) },
        { "nothing", CJ_LAUNCH(.programmatic = 0) },
    };
    uint32_t want = 0;
    cj_fill32(s, d, 0, N);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        extended_calls = plain_calls = 0;
        cj_status st = cj_launch(s, add, cj_dims_opts(cj_threads(N, 32), rows[i].opts), d, N, 1u);
        if (st == CJ_ENOTSUP) {
            tap_ok(strstr(cj_error_of(s)->message, " needs ") != NULL, "%s is not there: %s", rows[i].name,
                   cj_error_of(s)->message);
            cj_stream_sync(s);
            cj_stream_sync(s);
            continue;
        }
        tap_is_int(st, CJ_OK, "%s: %s", rows[i].name, cj_error_of(s)->message);
        tap_ok(extended_calls == 1 && !plain_calls, "%s: by cuLaunchKernelEx", rows[i].name);
        want++;
    }
    tap_is_uint(first(), want, "each launch ran, in the order of the stream");
    cj_launch(s, add, cj_threads(N, 32), d, N, 1u);
    tap_ok(plain_calls == 1, "a launch without attributes is the driver's plain one");
    cj_stream_sync(s);
}

static void check_mistakes(void)
{
    cj_launch_opts no_size = { .size = 0 };
    const struct { const char *name; const cj_launch_opts *opts; const char *says; } rows[] = {
        { "a flag that is no flag", CJ_LAUNCH(.programmatic = 2), "programmatic is 2, and is in 0 .. 1" },
        { "a cluster policy", CJ_LAUNCH(.cluster_policy = 9), "cluster_policy is 9, and is in 0 .. 2" },
        { "a carveout", CJ_LAUNCH(.carveout = 101), "carveout is 101, and is in -1 .. 100" },
        { "a ratio", CJ_LAUNCH(.window_ratio = 1.5f), "window_ratio is 1.5, and is in 0 .. 1" },
        { "what misses is not kept", CJ_LAUNCH(.window_miss = CJ_ACCESS_PERSISTING), "window_miss is 2" },
        { "a preferred cluster with a hole", CJ_LAUNCH(.preferred_cluster = { 2, 0, 1 }), "0 blocks in y" },
        { "no size", &no_size, "size" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tap_is_int(cj_launch(s, add, cj_dims_opts(cj_threads(N, 32), rows[i].opts), d, N, 1u), CJ_EINVAL, "%s",
                   rows[i].name);
        tap_has_str(cj_error_of(s)->message, rows[i].says, "%s: the message", rows[i].name);
        cj_stream_sync(s);
        cj_stream_sync(s);
    }
}

static void check_kept(void)
{
    cj_launch_opts opts;
    cj_launch_defaults(&opts);
    opts.has_priority = 1;
    cj_dims dims = cj_threads(N, 32);
    cj_dims_opts_set(&dims, &opts);
    cj_prepared *p = cj_prepare(add, dims, d, N, 1u);
    memset(&opts, 0xff, sizeof opts);
    cj_fill32(s, d, 0, N);
    extended_calls = 0;
    tap_is_int(cj_launch_prepared(s, p), CJ_OK, "a prepared launch has a copy of them: %s", cj_error_of(s)->message);
    tap_is_int(extended_calls, 1, "and uses it");
    cj_launch_defaults(&opts);
    opts.has_priority = 1;
    cj_graph *g = cj_graph_create(dev);
    tap_is_int(cj_error_of(cj_graph_kernel(g, NULL, add, dims, d, N, 5u))->status, CJ_OK, "a node has them too: %s",
               cj_error_of(g)->message);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, x);
    tap_is_uint(first(), 6, "both ran");
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_prepared_free(p);
}

int main(void)
{
    cj_interposer_opts over;
    cj_interposer_defaults(&over);
    over.after = count;
    bench_open_over(&over, 4 * N);
    check_options();
    check_mistakes();
    check_kept();
    return bench_close();
}
