/* Sizes and alignments at their limits: what the reader takes, what cj_ptx_check takes, and ptxas beside them. */
#include <cujit/parse.h>

#include "ptx/entries.h"
#include "ptx/layout.h"
#include "tests/ptx/ask_ptxas.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

#define V(version, text) ".version " version "\n.target sm_90\n.address_size 64\n" text "\n"
#define K(params, body) ".entry k(" params ") {" body "ret; }"
#define USE(name) ".reg .b64 a_" name "; mov.u64 a_" name ", " name ";"
#define LOAD(space, name) "{.reg .b32 r; ld." space ".u8 r, [" name "]; st.global.u32 [out], r; }"

enum { READ = 1, CHECK = 2, PTXAS = 4, ALL = 7 };

/* What takes the text: the reader; the check of a launch's memory; ptxas. */
static const struct { const char *name; int taken; const char *text, *says; bool asked; } cases[] = {
    { "4352 bytes of parameters before PTX 8.1", ALL, V("8.0", K(".param .b8 a[4352]", "")), "", true },
    { "one more", 0,
      V("8.0", K(".param .b8 a[4352], \n.param .b8 b", "")),
      "x:5: 'b' of 1 bytes does not fit: before PTX 8.1 a kernel's parameters have at most 4352 bytes", true },
    { "32764 bytes of parameters", ALL, V("8.1", K(".param .b8 a[32764]", "")), "", true },
    { "one more from PTX 8.1 on", 0,
      V("8.1", K(".param .b8 a[32765]", "")),
      "x:4: 'a' of 32765 bytes does not fit: a kernel's parameters have at most 32764 bytes", true },
    { "parameters that 32 bits do not hold", 0,
      V("8.1", K(".param .b8 a[4294967288], .param .b8 c[16]", "")),
      "'a' of 4294967288", false },
    { "parameters pushed apart by alignment", 0,
      V("8.1", K(".param .b8 a, .param .align 2147483648 .b8 b[4], .param .b8 c, .param .align 2147483648 .b8 "
      "d[4]", "")),
      "'b' of 4 bytes does not fit", false },
    { "alignment within the limit", ALL, V("8.0", K(".param .b8 a, .param .align 4096 .b8 b[4]", "")), "", false },
    { "parameters that wrap at 64 bits", 0,
      V("8.1", K(".param .b8 a[9223372036854775807], .param .b8 b[9223372036854775807], .param .b8 c[2]", "")),
      "'a' of", false },
    { "64 KiB of constants", ALL, V("8.0", ".const .b8 a[65536]; " K("", "")), "", true },
    { "one more constant", 0,
      V("8.0", ".const .b8 a[65536]; \n.const .b8 b; " K("", "")),
      "x:5: 'b' of 1 bytes does not fit: the .const variables of a module have at most 65536 bytes", true },
    { "constants pushed apart by alignment", 0,
      V("8.0", ".const .b8 a; .const .align 32768 .b8 b[32769]; " K("", "")),
      "'b' of 32769 bytes does not fit", false },
    { "constants of functions count", 0,
      V("8.0", ".const .b8 a[40000]; " K("", ".const .b8 b[40000];")),
      "'b' of 40000 bytes", false },
    { "a variable of 63 bits", READ | CHECK, V("8.0", ".global .b8 a[9223372036854775807]; " K("", "")), "", false },
    { "two of them", 0,
      V("8.0", ".global .b8 a[9223372036854775807]; .global .b8 b; " K("", "")),
      "x:4: 'b' of 1 bytes does not fit: the .global variables of a module have at most 9223372036854775807 "
      "bytes", false },
    { "a variable of 64 bits", 0,
      V("8.0", ".global .b8 a[9223372036854775808]; " K("", "")),
      "x:4:34: 'a' has a size that is negative or above 9223372036854775807 bytes", false },
    { "a negative size", 0, V("8.0", ".global .b8 a[-1]; " K("", "")), "is a plain number", false },
    { "dimensions that wrap", 0,
      V("8.0", ".global .b64 a[4294967296][4294967296]; " K("", "")),
      "'a' has a size", false },
    { "a size of 0", 0, V("8.0", ".global .b8 a[0]; " K("", "")), "'a' is an array of size 0", false },
    { "an alignment that is none", 0, V("8.0", ".global .align 3 .b8 a; " K("", "")), "not a power of two", false },
    { "an alignment of 0", 0, V("8.0", ".global .align 0 .b8 a; " K("", "")), "not a power of two", false },
    { "an alignment of 32 bits", 0, V("8.0", ".global .align 4294967296 .b8 a; " K("", "")), "out of range", false },
    { "a parameter of a function, aligned to 128", ALL,
      V("8.0", ".func f(.param .align 128 .b8 a[4]) { ret; }" K("", "")),
      "", true },
    { "a parameter of a function, aligned to 256", 0,
      V("8.0", ".func f(.param .align 256 .b8 a[4]) { ret; }" K("", "")),
      "'a' has .align 256; a parameter of a function is aligned to 128 at most", true },
    { "a result of a function, aligned to 256", 0,
      V("8.0", ".func (.param .align 256 .b8 a[4]) f() { ret; }" K("", "")),
      "'a' has .align 256", false },
    { "a parameter of a call, aligned to 256", 0,
      V("8.0", ".func f(.param .align 16 .b8 a[16]) { ret; }" K("", ".param .align 256 .b8 q[16]; call f, (q);")),
      "'q' has .align 256", false },
    { "48 KiB of shared memory", ALL,
      V("8.0", ".global .b32 out; " K("", ".shared .b8 s[49152]; " LOAD("shared", "s"))),
      "", true },
    { "one more byte", READ,
      V("8.0", ".global .b32 out; " K("", ".shared .b8 s[49153]; " LOAD("shared", "s"))),
      "x:4: 's' of 49153 bytes is too much for kernel k: static shared memory has at most 49152 bytes", true },
    { "a module's shared memory that nothing names", ALL, V("8.0", ".shared .b8 s[49153]; " K("", "")), "", true },
    { "a kernel's shared memory that nothing names", READ, V("8.0", K("", ".shared .b8 s[49153];")),
      "'s' of 49153 bytes is too much for kernel k", true },
    { "a function's that a kernel calls", READ, V("8.0", ".func f() { .shared .b8 s[49153]; ret; }" K("", "call f;")),
      "'s' of 49153 bytes is too much for kernel k", true },
    { "a function's that none calls", ALL, V("8.0", ".func f() { .shared .b8 s[49153]; ret; }" K("", "")), "", true },
    { "shared memory of 32 bits and more", READ | PTXAS,
      V("8.0", ".shared .b8 s[4294967296]; .shared .b8 t[64]; " K("", USE("s") USE("t"))),
      "'s' of 4294967296", false },
    { "two kernels with 40000 bytes each", ALL,
      V("8.0", ".global .b32 out; .shared .b8 s[40000]; .shared .b8 t[40000]; " K("", LOAD("shared", "s"))
      ".entry l() { " LOAD("shared", "t") " ret; }"),
      "", true },
    { "one kernel with both, through a function", READ,
      V("8.0", ".global .b32 out; .shared .b8 s[40000]; .shared .b8 t[40000]; .func f() { " LOAD("shared",
      "s") " ret; }\n" K("", LOAD("shared", "t") "call f;")),
      "is too much for kernel k", true },
    { "shared variables that wrap", 0,
      V("8.0", ".shared .b8 s[9223372036854775807]; .shared .b8 t[64]; " K("", "")),
      "'t' of 64 bytes does not fit: the .shared variables", false },
    { "512 KiB of local memory", ALL,
      V("8.0", ".global .b32 out; " K("", ".local .b8 s[524288]; " LOAD("local", "s"))),
      "", true },
    { "one more byte of local memory", READ | PTXAS,
      V("8.0", ".global .b32 out; " K("", ".local .b8 s[524289]; " LOAD("local", "s"))),
      "x:4: 's' of 524289 bytes is too much for k: a thread's local memory has at most 524288 bytes", true },
    { "local memory that nothing names", ALL, V("8.0", K("", ".local .b8 s[524289];")), "", false },
    { "a frame that wraps at 32 bits", READ,
      V("8.0", ".func f(.param .b8 p[512]) { .local .b8 big[4294950000]; .param .b8 q[512]; " USE("big") " "
      "call f, (q); ret; }" K("", "")),
      "'big' of 4294950000 bytes is too much for f", false },
    { "a frame that wraps at 64 bits", 0,
      V("8.0", K("", ".local .b8 s[9223372036854775807]; .local .b8 t[9223372036854775807]; " USE("s") USE("t"))),
      "'t' of 9223372036854775807 bytes does not fit", false },
};

static void texts(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_ptx *m = cj_parse(cases[i].text, strlen(cases[i].text), "x");
        bool read = cj_ptx_status(m) == CJ_OK, checked = cj_ptx_check(m) == CJ_OK;
        tap_is_int(read, (cases[i].taken & READ) != 0, "%s: the reader", cases[i].name);
        tap_is_int(checked, (cases[i].taken & CHECK) != 0, "%s: the check", cases[i].name);
        if (!checked) tap_is_int(cj_error_of(m)->status, CJ_EPTX, "%s: the status", cases[i].name);
        if (*cases[i].says) tap_has_str(cj_error_of(m)->message, cases[i].says, "%s: the message", cases[i].name);
        cj_ptx_free(m);
        if (!(cases[i].taken & READ)) {   /* nor do the heads alone wrap */
            cji_entries *e = cji_entries_read(cases[i].text, strlen(cases[i].text));
            const cji_entry *k = cji_entries_find(e, "k");
            for (uint32_t j = 0; k && j < k->nparam; j++)
                tap_ok(k->param[j].offset + (uint64_t)k->param[j].bytes <= CJI_PARAM_BYTES, "%s: its entry",
                       cases[i].name);
            cji_entries_release(e);
        }
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].asked) ptxas_assembles(cases[i].text, (cases[i].taken & PTXAS) != 0, cases[i].name);
}

/* The arithmetic itself. */
static void sums(void)
{
    static const struct { uint64_t end, align, bytes, limit; bool fits; uint64_t at, behind; } adds[] = {
        { 0, 1, 0, 0, true, 0, 0 },
        { 0, 1, 1, 0, false, 0, 0 },
        { 1, 4, 4, 8, true, 4, 8 },
        { 1, 4, 5, 8, false, 0, 1 },
        { 5, 0, 3, 8, true, 5, 8 },
        { 1, 1u << 31, 4, CJI_BYTES_MAX, true, 1u << 31, (1u << 31) + UINT64_C(4) },
        { CJI_BYTES_MAX, 1, 0, CJI_BYTES_MAX, true, CJI_BYTES_MAX, CJI_BYTES_MAX },
        { CJI_BYTES_MAX, 2, 0, CJI_BYTES_MAX, false, 0, CJI_BYTES_MAX },
        { CJI_BYTES_MAX, 1, 1, CJI_BYTES_MAX, false, 0, CJI_BYTES_MAX },
        { 1, 1, UINT64_MAX, CJI_BYTES_MAX, false, 0, 1 },
        { UINT64_MAX - 1, 16, 1, CJI_BYTES_MAX, false, 0, UINT64_MAX - 1 },
    };
    for (size_t i = 0; i < sizeof adds / sizeof *adds; i++) {
        uint64_t end = adds[i].end, at = 0;
        bool fits = cji_layout_add(&end, adds[i].align, adds[i].bytes, adds[i].limit, &at);
        tap_ok(fits == adds[i].fits && at == adds[i].at && end == adds[i].behind, "sum %zu: %d, %llu, %llu", i, fits,
               (unsigned long long)at, (unsigned long long)end);
    }
    uint64_t product = 7;
    tap_ok(!cji_layout_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &product) && product == 7, "a product that wraps");
    tap_ok(!cji_layout_mul(UINT64_C(1) << 31, UINT64_C(1) << 32, &product) && product == 7, "a product of 64 bits");
    tap_ok(cji_layout_mul(UINT64_C(1) << 31, UINT64_C(1) << 31, &product) && product == UINT64_C(1) << 62, "one of 63");
}

/* What the builder makes is checked likewise. */
static void built(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val s = cj_shared(f, "s", CJ_B32, 20000);
    cj_store(f, CJ_B32, s, cj_reg(f, CJ_B32));
    tap_is_int(cj_ptx_check(m), CJ_EPTX, "a kernel with 80000 bytes of shared memory");
    tap_has_str(cj_error_of(m)->message, "'s' of 80000 bytes is too much for kernel k", "its message");
    cj_ptx_free(m);
    tap_is_int(cj_ptx_check(NULL), CJ_EHANDLE, "no module");
}

int main(void)
{
    tap_plan(0);
    sums();
    texts();
    built();
    return tap_done();
}
