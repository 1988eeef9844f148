/* A kernel's printf writes what the host's printf writes, and at most 1 MiB a call, whatever widths and precisions the
 * format or the arguments ask for. The format lies at EX_BASE, the arguments 1024 bytes behind it. */
#include "exec_harness.h"

enum { MOST = 1 << 20, WIDE = 1 << 20 };

static const char text[] = EX_HEAD
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
    ".visible .entry k(.param .u64 a)\n{\n.reg .b64 %d<4>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %d1, [a];\nadd.s64 %d2, %d1, 1024;\n{\n.param .b64 p0;\n.param .b64 p1;\n.param .b32 q;\n"
    "st.param.b64 [p0], %d1;\nst.param.b64 [p1], %d2;\ncall.uni (q), vprintf, (p0, p1);\n"
    "ld.param.b32 %r1, [q];\n}\nst.global.u32 [%d1+2048], %r1;\nret;\n}\n";

static char *printed;        /* of one call, WIDE + 1 bytes */
static size_t printed_bytes;

static void print(void *user, const char *part, size_t n)
{
    (void)user;
    size_t room = WIDE - printed_bytes;
    memcpy(printed + printed_bytes, part, n < room ? n : room);
    printed_bytes += n;
    printed[printed_bytes < WIDE ? printed_bytes : WIDE] = 0;
}

static const struct {
    const char *name, *format;
    int64_t argument[3];
    unsigned bytes;              /* of each argument: 4 or 8 */
    const char *want;            /* NULL: MOST bytes are printed */
} rows[] = {
    { "a number", "%d|%5d|%-5d|", { 7, 7, 7 }, 4, "7|    7|7    |" },
    { "flags", "%+d|% d|%#x", { 7, 7, 255 }, 4, "+7| 7|0xff" },
    { "zeros and a precision", "%05d|%.3d|%8.3d", { 42, 7, 7 }, 4, "00042|007|     007" },
    { "a width as an argument", "%*d", { 6, 7 }, 4, "     7" },
    { "a negative one", "%*d|", { -6, 7 }, 4, "7     |" },
    { "a precision as an argument", "%.*d", { 3, 7 }, 4, "007" },
    { "a negative one is none", "%.*d", { -3, 7 }, 4, "7" },
    { "a precision without a number", "%.d|%.0d|", { 0, 0 }, 4, "||" },
    { "64 bits", "%lld|%llx", { INT64_MIN, -1 }, 8, "-9223372036854775808|ffffffffffffffff" },
    { "a percent sign", "100%%", { 0 }, 4, "100%" },
    { "an unknown conversion", "%5y", { 0 }, 4, "%5y" },
    { "a width of a thousand million", "%999999999d", { 7 }, 4, NULL },
    { "a width beyond 64 bits", "%99999999999999999999999999999999d", { 7 }, 4, NULL },
    { "a precision of a thousand million", "%.999999999d", { 7 }, 4, NULL },
    { "the largest width as an argument", "%*d", { INT32_MAX, 7 }, 4, NULL },
    { "the least width as an argument", "% *d", { INT32_MIN, 7 }, 4, NULL },
    { "the largest precision as an argument", "%.*d", { INT32_MAX, 7 }, 4, NULL },
    { "many widths that are not too large each", "%600000d%600000d%600000d", { 1, 2, 3 }, 4, NULL },
    { "many flags", "%-+ #0-+ #0-+ #0-+ #0-+ #0-+ #0-+ #0-+ #0-+ #0-+ #0999999999d", { 7 }, 4, NULL },
};

int main(void)
{
    cji_exec_program *p = ex_load(text);
    uint64_t param = EX_BASE;
    printed = malloc(WIDE + 1);
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t returned;
        cji_exec_fault f;
        cji_exec_launch l = { .program = p,
                              .kernel = cji_exec_program_kernel(p, "k"),
                              .grid = { 1, 1, 1 },
                              .block = { 1, 1, 1 },
                              .params = &param,
                              .memory = { .find = ex_find, .print = print } };
        snprintf((char *)ex_memory, 1024, "%s", rows[i].format);
        for (unsigned n = 0; n < 3; n++)
            memcpy(ex_memory + 1024 + n * rows[i].bytes, &rows[i].argument[n], rows[i].bytes);
        printed_bytes = 0;
        tap_ok(cji_exec_run(&l, &f), "%s: the kernel runs", rows[i].name);
        memcpy(&returned, ex_memory + 2048, sizeof returned);
        tap_is_uint(returned, printed_bytes, "%s: vprintf returns the number of bytes", rows[i].name);
        if (rows[i].want) tap_is_str(printed, rows[i].want, "%s: its text", rows[i].name);
        else tap_is_uint(printed_bytes, MOST, "%s: 1 MiB is printed", rows[i].name);
    }
    free(printed);
    cji_exec_program_free(p);
    return tap_done();
}
