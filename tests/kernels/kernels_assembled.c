/* ptxas takes the code of each kind of object for sm_80 and sm_90a, without a warning and without spills.  With
 * CUJIT_TEST_ALL=1 all variants, else some. */
#include "tests/kernels/kernels_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap_run.h"

static const char *const targets[] = { "sm_80", "sm_90a" };
static char folder[] = "/tmp/cujit-kernels.XXXXXX";
static bool all;
static unsigned number;

static void assemble_text(const char *text, const char *target, const char *name)
{
    char source[64], result[64], arch[24];
    tap_result r;
    snprintf(source, sizeof source, "%s/k.ptx", folder);
    snprintf(result, sizeof result, "%s/k.cubin", folder);
    snprintf(arch, sizeof arch, "-arch=%s", target);
    FILE *f = fopen(source, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) tap_bail("cannot write %s", source);
    const char *const argv[] = { tap_ptxas(), "-v", arch, "-o", result, source, NULL };
    tap_run(&r, argv, NULL);
    bool spills = false;
    for (const char *p = r.err; (p = strstr(p, " bytes spill")); p++) spills = spills || p[-1] != '0' || p[-2] != ' ';
    bool good = r.status == 0 && !spills && !strstr(r.err, "warning") && !strstr(r.err, "error");
    if (!tap_ok(good, "%s for %s", name, target)) tap_diag("%.2000s", r.err);
    tap_result_free(&r);
    unlink(source);
    unlink(result);
}

/* The text of an object, which is then freed by the caller. */
static void assemble(const void *object, const char *text, const char *name)
{
    if (strstr(cj_error_of(object)->message, "is not executed by the CPU device")) {
        tap_skip(1, "%s: the CPU device does not execute its instructions", name);
        return;
    }
    if (cj_error_of(object)->status) {
        tap_fail("%s: %s", name, cj_error_of(object)->message);
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        if (!all && number++ % 7 != 0) continue;
        if (i == 0 && strstr(text, ".target sm_90")) continue;
        assemble_text(text, targets[i], name);
    }
}

#define ASSEMBLE(kind, options, name)                                       \
    do {                                                                    \
        cj_##kind *object = cj_##kind##_create(kb_dev, options);            \
        const char *text = "";                                              \
        cj_##kind##_ptx(object, 0, &text, NULL);                            \
        assemble(object, text, name);                                       \
        cj_##kind##_free(object);                                           \
    } while (0)

static const cj_type types[] = { CJ_F32, CJ_F64, CJ_F16, CJ_BF16, CJ_U8,  CJ_S8,
                                 CJ_U16, CJ_S16, CJ_U32, CJ_S32,  CJ_U64, CJ_S64 };

/* The text of scans on a device of sm_80, which has fewer kernels: written by this program in another process. */
static int print_scan(size_t i)
{
    const char *text = "";
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_scan *c = cj_scan_create(dev, CJ_SCAN(.type = types[i], .exclusive = i % 2));
    bool printed = cj_scan_ptx(c, 0, &text, NULL) == CJ_OK && fputs(text, stdout) >= 0;
    cj_scan_free(c);
    cj_device_close(dev);
    cj_driver_close(drv);
    return !printed;
}

static void older_scans(const char *program)
{
    static const char *const env[] = { "CUJIT_SIM_SM=80", NULL };
    char name[80], index[8];
    for (size_t i = 0; i < (all ? sizeof types / sizeof *types : 2); i++) {
        tap_result r;
        snprintf(index, sizeof index, "%zu", i);
        tap_run(&r, (const char *const[]){ program, index, NULL }, env);
        snprintf(name, sizeof name, "scan of %s on a device of sm_80", kb_name(types[i]));
        if (r.status) tap_fail("%s: %d, %s", name, r.status, r.err);
        else assemble_text(r.out, targets[0], name);
        tap_result_free(&r);
    }
}

int main(int argc, char **argv)
{
    static const uint64_t columns[] = { 0, 1, 100, 1000, 4096, 8192, 32768 };
    char name[80];
    if (argc > 1) return print_scan(strtoul(argv[1], NULL, 10));
    tap_need_ptxas();
    kb_open();
    tap_timeout(200); /* ptxas takes seconds on a machine with much else to do */
    all = getenv("CUJIT_TEST_ALL") != NULL;
    if (all) tap_timeout(1800);
    if (!mkdtemp(folder)) tap_bail("no folder");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        snprintf(name, sizeof name, "reduction of %s", kb_name(types[i]));
        ASSEMBLE(reduce, CJ_REDUCE(.type = types[i], .op = (int32_t)(i % 4)), name);
        snprintf(name, sizeof name, "scan of %s", kb_name(types[i]));
        ASSEMBLE(scan, CJ_SCAN(.type = types[i], .exclusive = i % 2), name);
        snprintf(name, sizeof name, "argmax of %s", kb_name(types[i]));
        ASSEMBLE(argmax, CJ_ARGMAX(.type = types[i], .least = i % 3 == 0), name);
    }
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        cj_type type = i % 2 ? CJ_BF16 : CJ_F32;
        snprintf(name, sizeof name, "of %llu columns of %s", (unsigned long long)columns[i], kb_name(type));
        ASSEMBLE(softmax, CJ_SOFTMAX(.type = type, .columns = columns[i]), name);
        ASSEMBLE(layer_norm, CJ_LAYER_NORM(.type = type, .columns = columns[i], .weight = 1, .bias = 1), name);
        ASSEMBLE(rms_norm, CJ_RMS_NORM(.type = type, .columns = columns[i], .weight = 1), name);
    }
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "rope %d", i);
        ASSEMBLE(rope, CJ_ROPE(.type = i % 2 ? CJ_BF16 : CJ_F16, .dim = 128, .interleaved = i / 2), name);
    }
    for (int i = CJ_ACTIVATION_NONE; i <= CJ_ACTIVATION_SOFTPLUS; i++) {
        snprintf(name, sizeof name, "activation %d", i);
        ASSEMBLE(elementwise, CJ_ELEMENTWISE(.inputs = 1, .types[0] = CJ_BF16, .activation = i), name);
    }
    for (int i = CJ_GEMV_F16; i <= CJ_GEMV_Q6_K; i++) {
        snprintf(name, sizeof name, "gemv of format %d", i);
        ASSEMBLE(gemv, CJ_GEMV(.format = i, .x_type = CJ_F16), name);
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        snprintf(name, sizeof name, "product of %s", kb_name(types[i]));
        ASSEMBLE(gemm, CJ_GEMM(.type = types[i], .path = CJ_GEMM_SCALAR, .scaled = i % 2, .bias = i / 2 % 2), name);
    }
    for (int i = 0; i < 12; i++) {
        static const uint32_t dims[] = { 128, 64, 40, 1 };
        static const cj_type halves[] = { CJ_BF16, CJ_F16, CJ_F32 };
        cj_type type = halves[i % 3];
        snprintf(name, sizeof name, "attention of %u elements of %s", dims[i / 3], kb_name(type));
        int32_t path = type == CJ_F32 ? CJ_ATTENTION_SCALAR : i < 6 ? CJ_ATTENTION_WGMMA : CJ_ATTENTION_MMA;
        ASSEMBLE(attention, CJ_ATTENTION(.type = type, .dim = dims[i / 3], .causal = i % 2, .path = path), name);
    }
    older_scans(argv[0]);
    rmdir(folder);
    return kb_close();
}
