/* Images, modules, kernels, and what they tell. */
#include "tests/whole/work.h"

enum { N = 64 };
static const char code_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .u32 word[4];\n.visible .entry k(.param .u32 n)\n"
    "{\n ret;\n}\n";

static const char norm_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .func (.param .b32 r) norm(.param .b32 x)\n"
    "{\n .reg .b32 %r;\n ld.param.b32 %r, [x];\n shl.b32 %r, %r, 1;\n st.param.b32 [r], %r;\n ret;\n}\n";
static const char other_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry other()\n{\n ret;\n}\n";

static uint64_t modules(cj_device *dev, cj_stream *s, const cj_image *img)
{
    static uint32_t out[4];
    size_t bytes = 0;
    uint64_t sum = 0;
    cj_module *mod = cj_module_load_image(dev, img),
              *same = cj_module_load_text(dev, code_text, CJ_COMPILE(.max_registers = 32));
    work_made(mod), work_made(same);
    cj_dptr var = cj_module_var(mod, "word", &bytes);
    if (!var.addr) work_made(mod);
    cj_kernel *k = cj_module_kernel(same, "k");
    if (work_made(k)) {
        work_did(cj_launch(s, k, cj_grid(2, 32), 1u));
        work_did(cj_fill32(s, var, 3, bytes / 4));
        work_did(cj_copy_to_host(s, out, var, bytes));
        if (work_waited(s))
            sum = out[3] + bytes + (cj_module_device(mod) == dev) + (cj_kernel_module(k) == same) +
                  strlen(cj_module_log(mod)) + strlen(cj_kernel_log(k));
    }
    cj_module *wrapped = cj_module_wrap(dev, cj_module_raw(mod));
    cj_kernel *of_same = cj_kernel_wrap(dev, cj_kernel_raw(k));
    if (work_made(k)) work_made(wrapped), work_made(of_same);
    cj_kernel_free(of_same);
    cj_module_free(wrapped);
    cj_kernel_free(k);
    cj_module_free(same);
    cj_module_free(mod);
    return sum;
}

static uint64_t attributes(cj_stream *s, cj_kernel *k)
{
    cj_occupancy o;
    cj_launch_opts opts;
    cj_dims dims = cj_grid(1, 32);
    uint32_t clusters = 0;
    int32_t carveout = 0;
    cj_occupancy_defaults(&o);
    cj_launch_defaults(&opts);
    opts.has_priority = 1;
    work_did(cj_kernel_set_attribute(k, CJ_KERNEL_CARVEOUT, 50));
    work_did(cj_kernel_attribute(k, CJ_KERNEL_CARVEOUT, &carveout));
    work_did(cj_kernel_occupancy(k, 32, 1024, &o));
    work_did(cj_kernel_suggest_block(k, 0, 0, 64, &dims));
    work_did(cj_launch(s, k, cj_dims_opts(cj_grid(1, 32), &opts), 1u));
    dims = cj_grid(2, 32);
    dims.cluster[0] = 2;
    work_did(cj_kernel_max_clusters(k, &dims, &clusters));
    return clusters && o.blocks && carveout == 50 ? 0 : 1000; /* what is 0 changes no sum */
}

/* By name, prepared, with the driver's array; a variable by name. */
static uint64_t forms(cj_device *dev, cj_stream *s)
{
    static uint32_t word[4] = { 1, 2, 3, 4 }, out[4];
    uint32_t n = 1;
    void *args[] = { &n };
    const char *names[1] = { "" };
    uint64_t sum = 0;
    cj_module *mod = cj_module_load_text(dev, code_text, NULL);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_prepared *p = cj_prepare(k, cj_grid(1, 32), 1u);
    if (work_made(k) && work_made(p)) {
        work_did(cj_launch_name(s, mod, "k", cj_grid(1, 32), 1u));
        work_did(cj_launch_raw(s, k, (const cj_dims[]){ cj_grid(1, 32) }, args));
        work_did(cj_prepared_set(p, 0, 2u));
        sum = attributes(s, k);
        work_did(cj_prepared_set_dims(p, (const cj_dims[]){ cj_grid(2, 32) }));
        work_did(cj_launch_prepared(s, p));
        work_did(cj_module_var_write(s, mod, "word", CJ_U32, word, 4));
        work_did(cj_module_var_read(s, mod, "word", CJ_U32, out, 4));
        size_t count = cj_module_kernels(mod, names, 1);
        if (!count) work_made(mod);
        if (work_waited(s)) sum += out[3] + count + strlen(names[0]) + (cj_prepared_kernel(p) == k);
    }
    cj_prepared_free(p);
    cj_kernel_free(k);
    cj_module_free(mod);
    return sum;
}

static uint64_t kernels(cj_device *dev, cj_stream *s, cj_ptx *m)
{
    static uint32_t out;
    uint64_t sum = 0;
    cj_kernel_param_info param;
    cj_kernel_info info;
    cj_kernel_param_info_defaults(&param);
    cj_kernel_info_defaults(&info);
    cj_module *mod = cj_module_load(dev, m, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "add", NULL);
    cj_dptr d = cj_alloc(s, 4 * N);
    if (!d.addr) work_made(s);
    work_made(mod);
    if (d.addr && work_made(k)) {
        work_did(cj_kernel_param(k, 1, &param));
        work_did(cj_kernel_get_info(k, &info));
        work_did(cj_fill32(s, d, 2, N));
        work_did(cj_launch(s, k, cj_dims_shared(cj_threads(N, 32), 50000), d, N, 3));
        work_did(cj_copy_to_host(s, &out, d, 4));
        if (work_waited(s))
            sum = out + param.bytes + (uint64_t)cj_kernel_params(k) + (cj_kernel_module(k) == mod) +
                  strlen(cj_kernel_name(k));
    }
    cj_free(dev, d);
    cj_kernel_free(k);
    cj_module_free(mod);
    return sum;
}

/* Inputs of each kind, joined into one image. */
static uint64_t linked(cj_device *dev, cj_stream *s, const cj_image *img)
{
    static const char path[] = "/dev/null";
    uint64_t sum = 0;
    cj_ptx *m = cj_ptx_create();
    cj_fn *norm = cj_ptx_extern_func(m, "norm");
    cj_param(norm, "x", CJ_U32), cj_result(norm, "r", CJ_U32);
    cj_fn *f = cj_ptx_kernel(m, "twice");
    cj_val p = cj_param_ptr(f, "p", CJ_U32);
    cj_set(f, p, 0, cj_call(f, norm, 21));
    cj_linker *l = cj_linker_create(dev, NULL);
    work_made(l);
    if (work_did(cj_linker_add(l, m)))
        work_did(cj_linker_add_text(l, norm_text, "norm.ptx"));
    if (!cj_error_of(l)->status && !tap_on_gpu()) work_did(cj_linker_add_image(l, img));
    if (!cj_error_of(l)->status) work_did(cj_linker_add_data(l, other_text, sizeof other_text, NULL));
    cj_image *all = cj_linker_link(l);
    if (work_made(all)) {
        cj_kernel *k;
        cj_module *mod = cj_module_load_image(dev, all);
        static uint32_t out;
        cj_dptr d = cj_alloc(s, 4);
        if (!d.addr) work_made(s);
        work_made(mod);
        k = cj_module_kernel(mod, "twice");
        if (d.addr && work_made(k)) {
            work_did(cj_launch(s, k, cj_grid(1, 1), d));
            work_did(cj_copy_to_host(s, &out, d, 4));
            if (work_waited(s)) sum = out;
        }
        cj_free(dev, d);
        cj_kernel_free(k);
        cj_module_free(mod);
    }
    cj_linker_add_file(l, path);   /* CJ_EINVAL: it has no bytes */
    cj_image_free(all);
    cj_linker_free(l);
    cj_ptx_free(m);
    return sum;
}

static cj_kernel *load_add(void *m, cj_device *dev) { return cj_kernel_load(dev, m, "add", NULL); }

/* The same kernel by keys. */
static uint64_t cached_kernels(cj_device *dev, cj_ptx *m)
{
    uint64_t sum = 0;
    uint8_t key[16] = { 0 };
    cj_kernel_cache_opts o;
    cj_kernel_cache_stats stats;
    cj_kernel_cache_defaults(&o);
    cj_kernel_cache_stats_defaults(&stats);
    cj_kernel_cache *c = cj_kernel_cache_create(dev, &o);
    if (work_made(c) && work_did(cj_ptx_hash(m, key))) {
        cj_kernel *a = cj_kernel_cache_get(c, key, sizeof key, load_add, m), *b = NULL,
                  *same = cj_kernel_cache_load(c, m, "add", NULL), *put = cj_kernel_cache_put(c, "x", 1, a);
        work_made(a), work_made(same), work_made(put);
        if (work_made(a)) work_did(cj_kernel_cache_find(c, key, sizeof key, &b));
        sum = (a == b) + (uint64_t)(cj_kernel_params(same) + cj_kernel_params(put));
        cj_kernel_free(a);
        cj_kernel_free(b);
        cj_kernel_free(same);
        cj_kernel_free(put);
        if (b) work_did(cj_kernel_cache_forget(c, key, sizeof key));
        work_did(cj_kernel_cache_get_stats(c, &stats));
        work_did(cj_kernel_cache_clear(c));
        sum += stats.builds;
    }
    cj_kernel_cache_free(c);
    return sum;
}

static void on_compiled(void *n, cj_future *f) { *(uint64_t *)n += cj_future_query(f) == CJ_OK; }

static cj_ptx *stores(int v)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_U32);
    cj_set(f, p, 0, cj_imm(f, v));
    return m;
}

/* What a compiler makes; one request at a time, so that the same calls are made in each run. */
static uint64_t compiled(cj_device *dev, cj_stream *s)
{
    uint64_t calls = 0, sum = 0;
    static uint32_t out;
    cj_compiler_opts o;
    cj_compiler_progress progress;
    cj_compiler_defaults(&o);
    cj_compiler_progress_defaults(&progress);
    o.threads = 1;
    cj_ptx *m = stores(17), *one = stores(18);
    cj_linker *l = cj_linker_create(dev, NULL);
    cj_linker_add(l, one);
    cj_compiler *c = cj_compiler_create(dev, &o);
    work_made(c);
    cj_future *f[5] = { NULL };
    for (int i = 0; i < 5; i++) {
        f[i] = i == 0   ? cj_compiler_image(c, m, NULL)
               : i == 1 ? cj_compiler_image_text(c, other_text, NULL)
               : i == 2 ? cj_compiler_link(c, l)
               : i == 3 ? cj_compiler_module(c, m, NULL)
                        : cj_compiler_kernel(c, m, "k", NULL);
        work_did(cj_future_wait(f[i], -1));
        cj_compiler_wait(c, -1);
    }
    if (work_made(f[0])) work_did(cj_future_callback(f[0], on_compiled, &calls));
    if (work_made(f[1]) && cj_future_fd(f[1]) < 0) work_made(f[1]);
    cj_future_query(f[2]);
    cj_future_cancel(f[3]);   /* CJ_EBUSY: it is done */
    cj_image *img = cj_future_image(f[0]);
    cj_module *mod = cj_future_module(f[3]);
    cj_kernel *k = cj_future_kernel(f[4]), *staged = cj_compiler_kernel_staged(c, m, "k", NULL, NULL);
    work_made(img), work_made(mod), work_made(staged);
    cj_compiler_wait(c, -1);
    if (work_made(c)) work_did(cj_compiler_get_progress(c, &progress));
    cj_dptr d = cj_alloc(s, 4);
    if (!d.addr) work_made(s);
    if (d.addr && work_made(k) && work_made(staged)) {
        work_did(cj_launch(s, k, cj_grid(1, 1), d));
        work_did(cj_launch(s, staged, cj_grid(1, 1), d));
        work_did(cj_copy_to_host(s, &out, d, 4));
        if (work_waited(s)) sum = out + calls + progress.done;
    }
    cj_free(dev, d);
    cj_kernel_free(staged), cj_kernel_free(k), cj_module_free(mod), cj_image_free(img);
    for (int i = 0; i < 5; i++) cj_future_free(f[i]);
    cj_compiler_free(c);
    cj_linker_free(l);
    cj_ptx_free(one), cj_ptx_free(m);
    return sum;
}

/* Whole modules: what is read is copied, checked, changed and built on. */
static uint64_t texts(void)
{
    static const uint32_t init[] = { 1, 2 };
    uint64_t sum = 0;
    cj_ptx *m = cj_parse(code_text, sizeof code_text - 1, "code.ptx"), *copy = cj_ptx_clone(m);
    cj_fn *k = cj_ptx_find(copy, "k"), *out = cj_ptx_extern_func(copy, "elsewhere");
    cj_ptx_func(copy, "f");
    cj_ptx_line(copy, "code.c", 1);
    cj_ptx_var_align(copy, cj_ptx_global(copy, "g", CJ_U32, 2, init, 2), 16);
    cj_ptx_const(copy, "c", CJ_U32, 2, init, 2);
    cj_ptx_extern(copy, "e", CJ_SPACE_GLOBAL, CJ_U32, 4);
    cj_result(out, "r", CJ_U32);
    cj_ptx_set_version(copy, "8.0");
    cj_ptx_set_target(copy, "sm_90");
    work_made(m), work_made(copy);
    work_did(cj_ptx_check(copy));
    work_did(cj_ptx_reproducer(copy, "/dev/null"));
    work_did(cj_ptx_reproducer(m, "/dev/null"));
    if (cj_ptx_status(m) == CJ_OK && cj_ptx_status(copy) == CJ_OK)
        sum = (uint64_t)cj_ptx_version(copy) + strlen(cj_ptx_target(copy)) + (uint64_t)cj_ptx_has_debug(m) +
              (uint64_t)!cj_ptx_allows(copy, "sm_80") +
              (cj_fn_module(k) == copy);
    cj_ptx_free(copy);
    cj_ptx_free(m);
    return sum;
}

/* Device mathematics: functions and a table that the module gets, and that its copy has. */
static uint64_t mathematics(void)
{
    const char *text = "";
    cj_ptx *m = cj_ptx_create(), *copy;
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_F32), x = cj_get(f, p, 0), c;
    cj_set(f, p, 1, cj_math_sincos(f, x, &c));
    cj_set(f, p, 2, cj_math_pow(f, c, 2.5));
    cj_math_set_form(f, CJ_MATH_CALLED);
    cj_set(f, p, 3, cj_cvt(f, CJ_F32, cj_math_exp(f, cj_cvt(f, CJ_F16, x))));
    copy = cj_ptx_clone(m);
    f = cj_ptx_kernel(copy, "l");
    cj_val y = cj_param(f, "y", CJ_F64);
    cj_math_erfc(f, y);
    cj_math_sincos(f, y, &c); /* two results of 64 bits */
    work_made(m), work_made(copy);
    work_did(cj_ptx_print(copy, 0, &text, NULL));
    const bool there = strstr(text, "cj_math_trig_big_f32") && strstr(text, "cj_math_two_over_pi");
    cj_ptx_free(copy);
    cj_ptx_free(m);
    return there ? 0 : 1000;
}

int main(void)
{
    size_t bytes = 0;
    uint64_t sum = 0;
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_ptx *m = bench_add_module();
    work_made(s);
    cj_fault fault;
    cj_fault_defaults(&fault);
    cj_stream_get_fault(s, &fault); /* CJ_ENOTFOUND, or the device has failed */
    cj_compile_opts o;
    cj_compile_defaults(&o);
    o.line_info = 1;
    cj_image *img = cj_image_create_text(dev, code_text, NULL), *made = cj_image_create(dev, m, &o);
    work_made(img), work_made(made);
    const void *data = cj_image_data(img, &bytes);
    cj_image *again = cj_image_from(dev, data, bytes);
    if (work_made(again) && work_made(m))
        sum = modules(dev, s, again) + forms(dev, s) + kernels(dev, s, m) + cached_kernels(dev, m) +
              strlen(cj_image_log(img));
    if (work_made(img)) sum += linked(dev, s, img);
    sum += compiled(dev, s);
    sum += texts() + mathematics();
    cj_image_free(img);
    cj_image_free(made);
    cj_image_free(again);
    cj_stream_free(s);
    cj_device_collect(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_ptx_free(m);
    return work_end("code", sum);
}
