/* The README's messages are those that the library gives, and its figures are what is measured here. */
#include <cujit/cujit.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx/isa_table.h"
#include "tests/tap.h"
#include "tests/tap_run.h"

static char *readme;

/* A line of the README is `text`, which begins after four blanks. */
static void has_line(const char *text)
{
    char line[700];
    snprintf(line, sizeof line, "\n    %s\n", text);
    tap_has_str(readme, line, "the README has: %.60s", text);
}

/* -- Messages of builders; #line is the source that the README speaks of ------------------------------------------- */

static void has_message(cj_ptx *m)
{
    has_line(cj_error_of(m)->message);
    cj_ptx_free(m);
}

static void builders_messages(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "gemm");
    cj_val d = cj_regs(f, CJ_F32, 4), a = cj_regs(f, CJ_B32, 4), b = cj_regs(f, CJ_B32, 4);
#line 90 "gemm.c"
    cj_ins(f, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", d, a, b, d);
    has_message(m);

    m = cj_ptx_create();
    cj_ptx_set_target(m, "sm_80");
    f = cj_ptx_kernel(m, "gemm");
#line 97 "gemm.c"
    cj_ins(f, "wgmma.fence.sync.aligned");
    has_message(m);

    m = cj_ptx_create();
    f = cj_ptx_kernel(m, "saxpy");
    cj_val x = cj_reg(f, CJ_F32), y = cj_reg(f, CJ_F32);
#line 14 "saxpy.c"
    cj_ins(f, "fma.f32", y, x, x, y);
    has_message(m);

    m = cj_ptx_create();
    f = cj_ptx_kernel(m, "saxpy");
    cj_val v = cj_param(f, "a", CJ_F32), n = cj_param(f, "n", CJ_U32);
#line 41 "saxpy.c"
    cj_add(f, v, n);
    has_message(m);
}
#line 68 "tests/build/readme_figures.c"

/* -- Messages of launches ------------------------------------------------------------------------------------------ */

static void launches_messages(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "saxpy");
    cj_param_ptr(f, "x", CJ_F32), cj_param(f, "n", CJ_U32);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "saxpy", NULL);
    cj_dptr d = cj_alloc(s, 256);
    cj_launch(s, k, cj_threads(1024, 256), d);
    has_line(cj_error_of(s)->message);
    cj_stream_sync(s);
    cj_launch(s, k, cj_grid(1, 2048), d, 64);
    has_line(cj_error_of(s)->message);
    tap_is_int(cj_stream_sync(s), CJ_EINVAL, "the check at the end returns it");
    cj_free(dev, d);
    cj_kernel_free(k);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_ptx_free(m);
}

/* -- Figures ------------------------------------------------------------------------------------------------------- */

static unsigned instructions(void)
{
    const char *argv[] = { "/bin/sh", "-c", "cat \"$top_srcdir\"/src/ptx/isa/*.def | "
                           "sed -n 's/^I(\\([A-Z0-9_]*\\).*/\\1/p' | sort -u | wc -l", NULL };
    tap_result r;
    setenv("top_srcdir", tap_source("."), 1);
    tap_run(&r, argv, NULL);
    const unsigned count = (unsigned)strtoul(r.out, NULL, 10);
    tap_result_free(&r);
    return count;
}

static void table_sizes(void)
{
    char text[200], forms[20];
    const uint32_t rows = cji_isa_table_rows, n = cji_isa_table[rows].first;
    snprintf(forms, sizeof forms, "%u,%03u", n / 1000, n % 1000);
    snprintf(text, sizeof text, "%u of the PTX manual; %u rows, %s forms", instructions(), rows, forms);
    tap_has_str(readme, text, "the README counts instructions, rows and forms");
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The README's kernel, from nothing to PTX, in seconds. */
static double one_kernel(void)
{
    const double begun = now();
    const char *text = "";
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "saxpy");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), y = cj_param_ptr(f, "y", CJ_F32);
    cj_val a = cj_param(f, "a", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_val xi = cj_get(f, x, i), yi = cj_get(f, y, i);
        cj_set(f, y, i, cj_fma(f, a, xi, yi));
    cj_end(f);
    if (cj_ptx_print(m, 0, &text, NULL) != CJ_OK) tap_bail("%s", cj_error_of(m)->message);
    cj_ptx_free(m);
    return now() - begun;
}

/* The 53 ms that a first launch takes with NVRTC are a hundred times more than any of these machines needs. */
static void time_to_ptx(void)
{
    double best = 1;
    for (int i = 0; i < 100; i++) {
        const double t = one_kernel();
        if (t < best) best = t;
    }
    tap_diag("a kernel is PTX after %.1f us", best * 1e6);
    if (tap_is_slow()) tap_skip(1, "Valgrind or a sanitizer slows this down");
    else tap_ok(best < 53e-3 / 100, "a kernel is PTX in less than a hundredth of NVRTC's time");
    tap_has_str(readme, "PTX after 20 µs", "the README has the time");
}

/* Bytes of a shared object that are loaded from its file: what stripping leaves. */
static size_t loaded_bytes(const char *path)
{
    size_t bytes = 0, sum = 0;
    char *file = tap_slurp(path, &bytes);
    if (!file || bytes < sizeof(Elf64_Ehdr) || memcmp(file, ELFMAG, SELFMAG) || file[EI_CLASS] != ELFCLASS64)
        return free(file), 0;
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Phdr *part = (const void *)(file + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum; i++)
        if (part[i].p_type == PT_LOAD) sum += part[i].p_filesz;
    free(file);
    return sum;
}

static void size_of_library(void)
{
    const size_t bytes = loaded_bytes(tap_build(".libs/libcujit.so"));
    tap_diag("libcujit.so has %zu bytes that are loaded", bytes);
    if (!bytes || tap_is_slow()) tap_skip(1, "no shared library without instrumentation");
    else tap_ok(bytes < 2450000, "the library has 2.4 MB");
    tap_has_str(readme, "library has 2.4 MB", "the README has the size");
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    readme = tap_slurp(tap_source("README.md"), NULL);
    if (!readme) tap_bail("README.md cannot be read");
    builders_messages();
    launches_messages();
    table_sizes();
    time_to_ptx();
    size_of_library();
    free(readme);
    return tap_done();
}
