/* What declarations mean when a kernel runs: variables declared and then defined, addresses in initial values, aliases,
 * vector registers as parameters, incomplete initial values; and floats of old targets, which have no subnormals. */
#include "exec_harness.h"

static const uint32_t declared_want[] = { 10, 20, 20, 100, 77, 0, 77, 0, 3 };

static cji_exec_program *sample(const char *path)
{
    size_t bytes;
    char *text = tap_slurp(tap_source(path), &bytes);
    if (!text) tap_bail("%s cannot be read", path);
    cji_exec_program *p = ex_load(text);
    free(text);
    return p;
}

static void declared(void)
{
    cji_exec_fault fault;
    uint64_t param = EX_BASE;
    const uint32_t in[] = { 10, 20 };
    uint32_t out[9];
    cji_exec_program *p = sample("tests/ptx/samples/declared.ptx");
    memset(ex_memory, 0, 64);
    memcpy(ex_memory, in, sizeof in);
    tap_ok(ex_run(p, "k", 1, 1, 0, &param, &fault), "the kernel runs");
    memcpy(out, ex_memory, sizeof out);
    for (size_t i = 0; i < 9; i++) tap_is_uint(out[i], declared_want[i], "result %zu", i);
    cji_exec_program_free(p);
}

/* mul of two operands on a text's target. */
static uint32_t product(const char *head, uint32_t a, uint32_t b)
{
    char text[1024];
    cji_exec_fault fault;
    uint64_t param = EX_BASE;
    uint32_t r;
    snprintf(text, sizeof text,
             "%s.entry k(.param .u64 p) { .reg .u64 a; .reg .f32 x, y; ld.param.u64 a, [p]; ld.global.f32 x, [a]; "
             "ld.global.f32 y, [a+4]; mul.f32 x, x, y; st.global.f32 [a+8], x; exit; }\n", head);
    cji_exec_program *p = ex_load(text);
    memcpy(ex_memory, &a, 4);
    memcpy(ex_memory + 4, &b, 4);
    tap_ok(ex_run(p, "k", 1, 1, 0, &param, &fault), "a kernel runs: %.32s", head);
    memcpy(&r, ex_memory + 8, 4);
    cji_exec_program_free(p);
    return r;
}

int main(void)
{
    const uint32_t least = 0x00800000, half = 0x3f000000;
    tap_plan(0);
    declared();
    tap_is_uint(product(".version 1.4\n.target sm_13\n", least, half), 0, "sm_13 flushes subnormals");
    tap_is_uint(product(".version 2.0\n.target sm_20\n", least, half), 0x00400000, "sm_20 does not");
    return tap_done();
}
