/* What a compiler makes: images, modules, kernels, links, failures; from many threads; and kernels in two stages, whose
 * launches use the optimised code while graphs keep what they captured. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/device_bench.h"

/* k: p[0] = i */
static cj_ptx *constant(int i)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_U32);
    cj_set(f, p, 0, cj_imm(f, i));
    return m;
}

static uint32_t run(cj_kernel *k)
{
    uint32_t v = 0;
    cj_launch(s, k, cj_grid(1, 1), d);
    cj_copy_to_host(s, &v, d, sizeof v);
    cj_stream_sync(s);
    return v;
}

/* The value that an image, a module or a kernel stores. */
static uint32_t image_value(cj_image *img)
{
    cj_module *mod = cj_module_load_image(dev, img);
    cj_kernel *k = cj_module_kernel(mod, "k");
    uint32_t v = run(k);
    cj_kernel_free(k), cj_module_free(mod), cj_image_free(img);
    return v;
}

static void results(cj_compiler *c)
{
    static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
                               " .reg .b64 %a;\n ld.param.u64 %a, [p];\n st.global.u32 [%a], 12;\n ret;\n}\n";
    cj_ptx *m = constant(11), *b = constant(13), *l1 = constant(14);
    cj_linker *l = cj_linker_create(dev, NULL);
    cj_linker_add(l, l1);
    cj_future *image = cj_compiler_image(c, m, CJ_COMPILE(.line_info = 1)),
              *from_text = cj_compiler_image_text(c, text, NULL), *module_ = cj_compiler_module(c, b, NULL),
              *kernel = cj_compiler_kernel(c, b, "k", NULL), *link = cj_compiler_link(c, l);
    cj_linker_free(l);   /* a request has what the linker had */
    tap_is_uint(image_value(cj_future_image(image)), 11, "an image of a builder");
    tap_is_uint(image_value(cj_future_image(from_text)), 12, "an image of a text");
    tap_is_uint(image_value(cj_future_image(link)), 14, "a link");
    cj_module *mod = cj_future_module(module_);
    cj_kernel *k = cj_future_kernel(kernel);
    tap_is_uint(run(k), 13, "a kernel");
    tap_ok(cj_kernel_module(k) == mod, "a module of the same builder is the same module");
    tap_is_str(cj_kernel_name(k), "k", "the kernel's name");
    tap_is_int(cj_future_wait(kernel, 0), CJ_OK, "the request has succeeded");
    cj_kernel_free(k), cj_module_free(mod);
    cj_future_free(image), cj_future_free(from_text), cj_future_free(module_), cj_future_free(kernel);
    cj_future_free(link), cj_ptx_free(m), cj_ptx_free(b), cj_ptx_free(l1);
}

static void failures(cj_compiler *c)
{
    cj_ptx *m = constant(1), *wrong = cj_ptx_create();
    cj_linker *empty = cj_linker_create(dev, NULL);
    cj_fn *f = cj_ptx_kernel(wrong, "k");
    cj_ins(f, "no.such.instruction");
    const struct { const char *name; cj_future *f; cj_status status; } at_once[] = {
        { "a wrong builder", cj_compiler_image(c, wrong, NULL), CJ_EUNKNOWN },
        { "an option out of range", cj_compiler_image(c, m, CJ_COMPILE(.opt_level = 7)), CJ_EINVAL },
        { "no builder", cj_compiler_module(c, NULL, NULL), CJ_EHANDLE },
        { "no name", cj_compiler_kernel(c, m, NULL, NULL), CJ_EINVAL },
        { "no text", cj_compiler_image_text(c, NULL, NULL), CJ_EINVAL },
        { "no linker", cj_compiler_link(c, NULL), CJ_EHANDLE },
        { "a linker without inputs", cj_compiler_link(c, empty), CJ_ESTATE },
    };
    for (size_t i = 0; i < sizeof at_once / sizeof *at_once; i++) {
        tap_is_int(cj_error_of(at_once[i].f)->status, at_once[i].status, "%s: a failed future (%s)", at_once[i].name,
                   cj_error_of(at_once[i].f)->message);
        tap_is_int(cj_future_wait(at_once[i].f, -1), at_once[i].status, "%s: which says so", at_once[i].name);
        cj_kernel *k = cj_future_kernel(at_once[i].f);
        tap_is_int(cj_error_of(k)->status, at_once[i].status, "%s: as does its result", at_once[i].name);
        cj_kernel_free(k), cj_future_free(at_once[i].f);
    }
    cj_future *late = cj_compiler_image_text(c, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n"
                                                "{\n bad.u32 %r1;\n ret;\n}\n", NULL);
    cj_future *absent = cj_compiler_kernel(c, m, "absent", NULL);
    tap_is_int(cj_future_wait(late, -1), CJ_EJIT, "a wrong text fails when it is compiled");
    tap_is_int(cj_error_of(late)->status, CJ_EJIT, "the future has the failure");
    cj_image *img = cj_future_image(late);
    tap_has_str(cj_image_log(img), "bad.u32 %r1;", "the image has the log, with the line");
    tap_is_int(cj_future_wait(absent, -1), CJ_ENOTFOUND, "a kernel that is not there");
    cj_image_free(img), cj_future_free(late), cj_future_free(absent);
    cj_linker_free(empty), cj_ptx_free(wrong), cj_ptx_free(m);
    static const cj_compiler_opts wrong_opts[] = {
        { .size = sizeof(cj_compiler_opts), .threads = -1 },
        { .size = sizeof(cj_compiler_opts), .threads = 257 },
        { .size = sizeof(cj_compiler_opts), .full = 2 },
        { .size = sizeof(cj_compiler_opts), .stack = 4096 },
        { .size = 0 },
    };
    for (size_t i = 0; i < sizeof wrong_opts / sizeof *wrong_opts; i++) {
        cj_compiler *bad = cj_compiler_create(dev, &wrong_opts[i]);
        tap_is_int(cj_error_of(bad)->status, CJ_EINVAL, "options %zu are out of range (%s)", i,
                   cj_error_of(bad)->message);
        cj_future *none = cj_compiler_image_text(bad, "", NULL);
        tap_is_int(cj_error_of(none)->status, CJ_EINVAL, "a failed compiler makes failed futures");
        cj_future_free(none), cj_compiler_free(bad);
    }
}

/* ---- Many threads ------------------------------------------------------------------------------------------------ */

enum { THREADS = 6, EACH = 8 };
static cj_compiler *shared;
static int callbacks;
static unsigned char seen_done[THREADS * EACH + 1];
static int repeated;

static void on_each_done(void *user, cj_future *f)
{
    (void)user;
    if (cj_future_query(f) == CJ_OK) __atomic_fetch_add(&callbacks, 1, __ATOMIC_SEQ_CST);
}

static void on_each_progress(void *user, uint64_t done, uint64_t requests)
{
    (void)user;
    if (done < 1 || done > requests || done > THREADS * EACH ||
        __atomic_exchange_n(&seen_done[done], 1, __ATOMIC_SEQ_CST))
        __atomic_fetch_add(&repeated, 1, __ATOMIC_SEQ_CST);
}

static void *ask(void *number)
{
    cj_future *f[EACH];
    for (int i = 0; i < EACH; i++) {
        cj_ptx *m = constant((int)(intptr_t)number * EACH + i);
        f[i] = cj_compiler_image(shared, m, NULL);
        cj_future_callback(f[i], on_each_done, NULL);
        cj_ptx_free(m);
    }
    intptr_t good = 0;
    for (int i = 0; i < EACH; i++) {
        cj_image *img = cj_future_image(f[i]);
        good += cj_error_of(img)->status == CJ_OK;
        cj_image_free(img);
        cj_future_free(f[i]);
    }
    return (void *)good;
}

static void many_threads(void)
{
    pthread_t thread[THREADS];
    int good = 0;
    shared = cj_compiler_create(dev, CJ_COMPILER(.threads = 4, .queue = 3, .stack = 1 << 20));
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, ask, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *n;
        pthread_join(thread[i], &n);
        good += (int)(intptr_t)n;
    }
    tap_is_int(cj_compiler_wait(shared, -1), CJ_OK, "the batch is done");
    tap_is_int(good, THREADS * EACH, "each request of each thread has its image");
    tap_is_int(callbacks, THREADS * EACH, "each callback was called once");
    cj_compiler_free(shared);
}

/* One thread asks, so that all is one batch while the first is held. */
static struct latch first_done = LATCH_CLOSED;
static void on_first_progress(void *user, uint64_t done, uint64_t requests)
{
    if (done == 1) latch_wait(&first_done);
    on_each_progress(user, done, requests);
}

static void one_batch(void)
{
    enum { N = 20 };
    cj_compiler *c = cj_compiler_create(dev, CJ_COMPILER(.threads = 3, .progress = on_first_progress));
    cj_compiler_progress p;
    cj_compiler_progress_defaults(&p);
    for (int i = 0; i < N; i++) {
        cj_ptx *m = constant(i);
        cj_future_free(cj_compiler_image(c, m, NULL));   /* nobody holds it: it is compiled all the same */
        cj_ptx_free(m);
        if (!i) latch_entered(&first_done);
    }
    latch_open(&first_done);
    cj_compiler_wait(c, -1);
    cj_compiler_get_progress(c, &p);
    int all = 0;
    for (int i = 1; i <= N; i++) all += seen_done[i];
    tap_ok(p.requests == N && p.done == N, "a batch of %d", N);
    tap_is_int(all, N, "progress was reported for each number");
    tap_is_int(repeated, 0, "for none of them twice");
    cj_compiler_free(c);
}

/* ---- Two stages -------------------------------------------------------------------------------------------------- */

static struct latch stage_held = LATCH_CLOSED;
static void on_stage_hold(void *user, uint64_t done, uint64_t requests)
{
    (void)user, (void)requests;
    if (done == 1) latch_wait(&stage_held);
}

/* The optimised code cannot come before the latch is opened: the compiler's only thread is held. */
static void two_stages(void)
{
    cj_future *optimised = NULL;
    cj_compiler *c = cj_compiler_create(dev, CJ_COMPILER(.threads = 1, .progress = on_stage_hold));
    cj_ptx *m = cj_ptx_create(), *other = constant(3);
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_U32);
    cj_set(f, p, 0, cj_add(f, cj_get(f, p, 0), 1));
    cj_fn_max_threads(f, 64, 1, 1);
    cj_future_free(cj_compiler_image(c, other, NULL));
    latch_entered(&stage_held);
    cj_kernel *k = cj_compiler_kernel_staged(c, m, "k", NULL, &optimised);
    tap_is_str(cj_error_of(k)->message, "", "a kernel of the first stage");
    tap_is_int(cj_future_query(optimised), CJ_ENOTREADY, "the second stage waits");
    void *first = cj_kernel_raw(k);
    int32_t carveout = 0;
    tap_is_int(cj_kernel_set_attribute(k, CJ_KERNEL_CARVEOUT, 50), CJ_OK, "an attribute of it is set");
    cj_module *mod = cj_kernel_module(k);
    cj_fill32(s, d, 10, 1);
    tap_is_uint(run(k), 11, "it computes");
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_launch(s, k, cj_grid(1, 1), d);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    struct latch busy = LATCH_CLOSED;
    bench_hold(s, &busy);
    cj_launch(s, k, cj_grid(1, 1), d);   /* enqueued with the first code, runs when there is the second */
    latch_open(&stage_held);
    if (tap_on_gpu()) latch_open(&busy); /* a GPU's driver loads code when the work in flight is complete */
    tap_is_int(cj_future_wait(optimised, -1), CJ_OK, "the second stage is loaded while work waits (%s)",
               cj_error_of(optimised)->message);
    cj_kernel *same = cj_future_kernel(optimised);
    tap_ok(same == k, "its kernel is the same handle");
    tap_ok(cj_kernel_raw(k) != first, "launches use other code");
    tap_ok(cj_kernel_module(k) == mod, "the kernel's module stays");
    tap_is_int(cj_kernel_attribute(k, CJ_KERNEL_CARVEOUT, &carveout), CJ_OK, "its attribute is read");
    tap_is_int(carveout, 50, "and is what was set for the first code");
    if (!tap_on_gpu()) latch_open(&busy);
    tap_is_uint(run(k), 13, "launches of both are right");
    cj_graph_launch(s, x);
    tap_is_uint(run(k), 15, "and the graph's, which has the first code");
    cj_kernel_info info;
    cj_kernel_info_defaults(&info);
    tap_is_int(cj_kernel_get_info(k, &info), CJ_OK, "its properties are read");
    tap_is_int(info.block_threads, 64, "they are those of the code that is used");
    cj_kernel *whole = cj_kernel_load(dev, m, "k", CJ_COMPILE(.max_registers = 40));
    tap_is_int(cj_error_of(whole)->status, CJ_OK, "the builder can be loaded with other options");
    cj_kernel_free(k), cj_kernel_free(same);
    cj_graph_launch(s, x);
    tap_is_uint(run(whole), 17, "the graph keeps the code when the kernel is freed");
    cj_kernel_free(whole);
    cj_graph_exec_free(x), cj_graph_free(g);
    cj_future_free(optimised), cj_compiler_free(c), cj_ptx_free(m), cj_ptx_free(other);
}

static void stages_fail(cj_compiler *c)
{
    cj_future *f = NULL;
    cj_ptx *m = constant(5);
    cj_kernel *k = cj_compiler_kernel_staged(c, m, "absent", NULL, &f);
    tap_is_int(cj_error_of(k)->status, CJ_ENOTFOUND, "a kernel that is not there");
    tap_is_int(cj_error_of(f)->status, CJ_ENOTFOUND, "fails the second stage too");
    cj_kernel_free(k), cj_future_free(f);
    k = cj_compiler_kernel_staged(NULL, m, "k", NULL, NULL);
    tap_is_int(cj_error_of(k)->status, CJ_EHANDLE, "no compiler");
    cj_kernel_free(k);
    k = cj_compiler_kernel_staged(c, m, "k", NULL, NULL);
    tap_is_uint(run(k), 5, "a kernel whose second stage nobody watches");
    cj_compiler_wait(c, -1);
    tap_is_uint(run(k), 5, "is right in its second stage");
    cj_kernel_free(k), cj_ptx_free(m);
}

int main(void)
{
    bench_open(4);
    cj_compiler *c = cj_compiler_create(dev, CJ_COMPILER(.threads = 2));
    results(c);
    failures(c);
    stages_fail(c);
    cj_compiler_free(c);
    many_threads();
    one_batch();
    two_stages();
    return bench_close();
}
