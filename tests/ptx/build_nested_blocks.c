/* if, else, loops, break, continue and return, nested: the branches they become. */
#include "ask_ptxas.h"

#include <cujit/ptx.h>

#include <stdlib.h>
#include <string.h>

typedef struct kernel { cj_ptx *m; cj_fn *f; cj_val p, q, n; } kernel;

static void only_if(kernel *k) { cj_if(k->f, k->p); cj_fence_block(k->f); cj_end(k->f); }
static void not_if(kernel *k) { cj_if(k->f, cj_not(k->f, k->p)); cj_fence_block(k->f); cj_end(k->f); }
static void if_else(kernel *k)
{
    cj_if(k->f, k->p);
    cj_fence_block(k->f);
    cj_else(k->f);
    cj_fence_device(k->f);
    cj_end(k->f);
}
static void endless(kernel *k)
{
    cj_loop(k->f);
    cj_fence_block(k->f);
    cj_break_if(k->f, k->p);
    cj_continue_unless(k->f, k->q);
    cj_break(k->f);
    cj_end(k->f);
}
static void turns(kernel *k) { cj_while(k->f, k->p); cj_continue_if(k->f, k->q); cj_end(k->f); }
static void up(kernel *k) { cj_for(k->f, cj_imm(k->f, 0), k->n, cj_imm(k->f, 2)); cj_continue(k->f); cj_end(k->f); }
static void down(kernel *k)
{
    cj_for(k->f, k->n, cj_imm(k->f, 0), cj_imm(k->f, -1));
    cj_break_unless(k->f, k->p);
    cj_end(k->f);
}
static void inner_break(kernel *k)
{
    cj_loop(k->f);
        cj_while(k->f, k->p);
            cj_if(k->f, k->q); cj_break(k->f); cj_else(k->f); cj_return(k->f); cj_end(k->f);
        cj_end(k->f);
        cj_if(k->f, k->q); cj_break(k->f); cj_end(k->f);
    cj_end(k->f);
}
static void return_early(kernel *k)
{
    cj_return_if(k->f, k->p);
    cj_return_if(k->f, cj_not(k->f, k->q));
    cj_return(k->f);
}
static void by_hand(kernel *k)
{
    cj_val again = cj_label(k->f);
    cj_label_bind(k->f, again);
    cj_pragma(k->f, "nounroll");
    cj_ins_unless(k->f, k->p, "bra", again);
    cj_ins_if(k->f, cj_not(k->f, k->q), "bra", again);
}

static const struct { const char *name; void (*make)(kernel *); const char *text;
} cases[] = {
    { "if", only_if, "@!%p0 bra $L0;|membar.cta;|$L0:|ret;" },
    { "if not", not_if, "@%p0 bra $L0;|membar.cta;|$L0:|ret;" },
    { "if and else", if_else, "@!%p0 bra $L0;|membar.cta;|bra $L1;|$L0:|membar.gl;|$L1:|ret;" },
    { "an endless loop", endless, "$L0:|membar.cta;|@%p0 bra $L1;|@!%p1 bra $L0;|bra $L1;|bra $L0;|$L1:|ret;" },
    { "while", turns, "$L0:|@!%p0 bra $L1;|@%p1 bra $L0;|bra $L0;|$L1:|ret;" },
    { "for, upwards", up,
      "mov.u32 %u1, 0;|$L0:|setp.lt.u32 %p2, %u1, %u0;|@!%p2 bra $L1;|bra $L2;|$L2:|add.u32 %u1, %u1, 2;|bra $L0;|$L1:|"
      "ret;" },
    { "for, downwards", down,
      "mov.u32 %u1, %u0;|$L0:|setp.gt.u32 %p2, %u1, 0;|@!%p2 bra $L1;|@!%p0 bra $L1;|$L2:|add.u32 %u1, %u1, -1;|"
      "bra $L0;|$L1:|ret;" },
    { "a break in an if in a loop in a loop", inner_break,
      "$L0:|$L2:|@!%p0 bra $L3;|@!%p1 bra $L4;|bra $L3;|bra $L5;|$L4:|ret;|$L5:|bra $L2;|$L3:|@!%p1 bra $L6;|bra $L1;|"
      "$L6:|bra $L0;|$L1:|ret;" },
    { "early returns", return_early, "@%p0 ret;|@!%p1 ret;|ret;" },
    { "labels by hand", by_hand, "$L0:|.pragma \"nounroll\";|@!%p0 bra $L0;|@!%p1 bra $L0;|ret;" },
};

/* The body's lines behind the declarations, tabs dropped, joined by '|'. */
static void body_of(const char *text, char *out, size_t size)
{
    const char *s = strstr(text, "{\n") + 2;
    size_t n = 0;
    for (; *s && *s != '}'; s += strcspn(s, "\n") + 1) {
        const char *line = *s == '\t' ? s + 1 : s;
        size_t len = strcspn(line, "\n");
        if (!strncmp(line, ".reg", 4) || n + len + 2 > size) continue;
        if (n) out[n++] = '|';
        memcpy(out + n, line, len);
        n += len;
    }
    out[n] = 0;
}

int main(void)
{
    char body[1000];
    const char *text;
    tap_plan(0);
    cj_ptx *all = cj_ptx_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int into_all = 0; into_all < 2; into_all++) {
            char name[] = "k0";
            name[1] = (char)('a' + i);
            kernel k = { .m = into_all ? all : cj_ptx_create() };
            k.f = cj_ptx_kernel(k.m, name);
            k.p = cj_reg(k.f, CJ_PRED);
            k.q = cj_reg(k.f, CJ_PRED);
            k.n = cj_reg(k.f, CJ_U32);
            cases[i].make(&k);
            if (into_all) continue;
            if (!tap_is_int(cj_ptx_print(k.m, 0, &text, NULL), CJ_OK, "%s prints", cases[i].name))
                tap_bail("%s", cj_error_of(k.m)->message);
            body_of(text, body, sizeof body);
            tap_is_str(body, cases[i].text, "%s", cases[i].name);
            cj_ptx_free(k.m);
        }
    }
    tap_is_int(cj_ptx_print(all, 0, &text, NULL), CJ_OK, "all together");
    ptxas_takes(text, "structured control flow");
    cj_ptx_free(all);
    return tap_done();
}
