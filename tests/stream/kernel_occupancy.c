/* Occupancy, suggested block sizes, active clusters and attributes of kernels: the driver's numbers agree with the
 * rules of the occupancy calculator, and what is suggested can be launched. */
#include <string.h>

#include "tests/device_bench.h"

static const char text[] = ".version 7.8\n.target sm_70\n.address_size 64\n.extern .shared .align 4 .b8 room[];\n"
                           ".visible .entry plain(.param .u64 .ptr .global x)\n{\n .reg .b64 %d<2>;\n"
                           " ld.param.u64 %d1, [x];\n red.global.add.u32 [%d1], 1;\n ret;\n}\n"
                           ".visible .entry shares(.param .u64 .ptr .global x)\n{\n .reg .b64 %d<2>;\n .reg .b32 %r;\n"
                           " ld.param.u64 %d1, [x];\n st.shared.u32 [room], 1;\n ld.shared.u32 %r, [room];\n"
                           " red.global.add.u32 [%d1], %r;\n ret;\n}\n";

static cj_kernel *plain, *shares;

static void check_numbers(void)
{
    static const uint32_t threads[] = { 1, 32, 33, 64, 96, 128, 192, 256, 384, 512, 640, 768, 1024 };
    static const uint32_t shared[] = { 0, 1, 1024, 5000, 16384, 49152, 60000, 100000 };
    int differ = 0, asked = 0;
    cj_occupancy o;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        for (size_t j = 0; j < sizeof shared / sizeof *shared; j++) {
            cj_occupancy_defaults(&o);
            if (cj_kernel_occupancy(plain, threads[i], shared[j], &o) != CJ_OK) continue;
            const uint32_t by[] = { o.by_blocks, o.by_threads, o.by_registers, o.by_shared };
            asked++;
            differ += o.blocks != by[o.limit] || o.warps != o.blocks * ((threads[i] + 31) / 32);
        }
    tap_is_int(asked, (int)(sizeof threads / sizeof *threads * (sizeof shared / sizeof *shared)), "all are answered");
    tap_is_int(differ, 0, "the driver's blocks are those of the limit that the rules name");
    tap_is_int(cj_kernel_occupancy(plain, 0, 0, &o), CJ_EINVAL, "a block of 0 threads");
    tap_is_int(cj_kernel_occupancy(plain, 32, 0, NULL), CJ_EINVAL, "a result at NULL");
    cj_occupancy_defaults(&o);
    tap_ok(cj_kernel_occupancy(plain, 32, 1u << 30, &o) == CJ_OK && !o.blocks && o.limit == CJ_OCCUPANCY_SHARED,
           "more shared memory than there is: no block");
}

static void check_suggestions(void)
{
    const struct { const char *name; cj_kernel *k; uint32_t shared, each, most; } rows[] = {
        { "any size", plain, 0, 0, 0 },
        { "at most 100 threads", plain, 0, 0, 100 },
        { "with shared memory", shares, 1024, 0, 0 },
        { "with shared memory for each thread", shares, 16, 64, 0 },
        { "as much as there is nearly", shares, 200000, 100, 0 },
    };
    cj_device_info info;
    cj_device_info_defaults(&info);
    cj_device_get_info(dev, &info);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_dims dims;
        uint32_t ran = 0;
        if (rows[i].shared > (uint32_t)info.block_shared_most) continue;
        tap_is_int(cj_kernel_suggest_block(rows[i].k, rows[i].shared, rows[i].each, rows[i].most, &dims), CJ_OK,
                   "%s: %s", rows[i].name, cj_error_of(rows[i].k)->message);
        tap_ok(dims.block[0] && dims.grid[0] % (uint32_t)info.multiprocessors == 0 &&
                   (!rows[i].most || dims.block[0] <= rows[i].most) &&
                   dims.shared == rows[i].shared + rows[i].each * dims.block[0],
               "%s: %u blocks of %u threads, %u bytes", rows[i].name, dims.grid[0], dims.block[0], dims.shared);
        dims.grid[0] = 1;
        cj_fill32(s, d, 0, 1);
        cj_launch(s, rows[i].k, dims, d);
        cj_copy_to_host(s, &ran, d, sizeof ran);
        tap_is_int(cj_stream_sync(s), CJ_OK, "%s: it can be launched: %s", rows[i].name, cj_error_of(s)->message);
        tap_is_uint(ran, dims.block[0], "%s: with all threads", rows[i].name);
    }
    cj_dims dims;
    tap_is_int(cj_kernel_suggest_block(shares, 1u << 30, 0, 0, &dims), CJ_EINVAL, "more than there is");
    tap_has_str(cj_error_of(shares)->message, "shares: no block fits with 1073741824 bytes",
                "the message has the figures");
    tap_is_int(cj_kernel_suggest_block(shares, 0, 0, 0, NULL), CJ_EINVAL, "dimensions at NULL");
}

static void check_clusters(void)
{
    cj_device_info info;
    uint32_t n = 0;
    cj_dims dims = cj_grid(16, 128);
    cj_device_info_defaults(&info);
    cj_device_get_info(dev, &info);
    dims.cluster[0] = 2;
    cj_status st = cj_kernel_max_clusters(plain, &dims, &n);
    if (!info.clusters) {
        tap_is_int(st, CJ_ENOTSUP, "a device without clusters");
        return;
    }
    tap_is_int(st, CJ_OK, "active clusters: %s", cj_error_of(plain)->message);
    tap_ok(n >= 1, "%u clusters of 2 blocks are resident", n);
    dims.cluster[0] = 3;
    tap_is_int(cj_kernel_max_clusters(plain, &dims, &n), CJ_EINVAL, "a grid that is no multiple of the cluster");
    tap_is_int(cj_kernel_max_clusters(plain, NULL, &n), CJ_EINVAL, "dimensions at NULL");
}

static void check_attributes(void)
{
    const struct { const char *name; cj_kernel_attr attr; int32_t value; cj_status want; } rows[] = {
        { "dynamic shared memory", CJ_KERNEL_SHARED_DYNAMIC, 50000, CJ_OK },
        { "more dynamic shared memory than there is", CJ_KERNEL_SHARED_DYNAMIC, 1 << 30, CJ_EINVAL },
        { "a carveout", CJ_KERNEL_CARVEOUT, 50, CJ_OK },
        { "a carveout of more than all", CJ_KERNEL_CARVEOUT, 101, CJ_EINVAL },
        { "no such attribute", (cj_kernel_attr)77, 1, CJ_EINVAL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t now = -7;
        tap_is_int(cj_kernel_set_attribute(plain, rows[i].attr, rows[i].value), rows[i].want, "%s", rows[i].name);
        if (rows[i].want != CJ_OK) {
            tap_has_str(cj_error_of(plain)->message, "cj_kernel_set_attribute: ", "%s: the message", rows[i].name);
            continue;
        }
        tap_is_int(cj_kernel_attribute(plain, rows[i].attr, &now), CJ_OK, "%s is read", rows[i].name);
        tap_is_int(now, rows[i].value, "%s: it is what was set", rows[i].name);
    }
    tap_is_int(cj_kernel_attribute(plain, CJ_KERNEL_CARVEOUT, NULL), CJ_EINVAL, "a result at NULL");
    cj_kernel_set_attribute(plain, CJ_KERNEL_SHARED_DYNAMIC, 0);
    cj_launch(s, plain, cj_dims_shared(cj_grid(1, 32), 60000), d);
    tap_is_int(cj_stream_sync(s), CJ_OK, "a launch raises it again: %s", cj_error_of(s)->message);
}

int main(void)
{
    bench_open(64);
    cj_module *mod = cj_module_load_text(dev, text, NULL);
    plain = cj_module_kernel(mod, "plain");
    shares = cj_module_kernel(mod, "shares");
    check_numbers();
    check_suggestions();
    check_clusters();
    check_attributes();
    cj_kernel_free(plain);
    cj_kernel_free(shares);
    cj_module_free(mod);
    return bench_close();
}
