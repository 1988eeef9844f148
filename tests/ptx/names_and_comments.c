/* cj_name and cj_comment: what the printed text has, that it can be read again, and what stays out of the hash. */
#include <stdlib.h>
#include <string.h>

#include "ask_ptxas.h"

#include <cujit/parse.h>
#include <cujit/ptx.h>

typedef struct named { cj_ptx *m; cj_fn *f; cj_val p, x, y; } named;

static named begin(void)
{
    named k = { .m = cj_ptx_create() };
    k.f = cj_ptx_kernel(k.m, "k");
    k.p = cj_param_ptr(k.f, "p", CJ_F32);
    k.x = cj_let(k.f, CJ_F32, cj_get(k.f, k.p, 0));
    k.y = cj_let(k.f, CJ_F32, cj_get(k.f, k.p, 1));
    return k;
}

static void end(named *k) { cj_set(k->f, k->p, 0, cj_add(k->f, k->x, k->y)); }

static const char *text_of(named *k, unsigned flags)
{
    const char *text = NULL;
    cj_ptx_print(k->m, flags, &text, NULL);
    return text;
}

/* -- Names --------------------------------------------------------------------------------------------------------- */

static void one(named *k) { cj_name(k->f, k->x, "sum"); }
static void last(named *k) { cj_name(k->f, k->y, "sum"); }
static void both(named *k) { cj_name(k->f, k->x, "sum"), cj_name(k->f, k->y, "sum"); }
static void again(named *k) { cj_name(k->f, k->x, "old"), cj_name(k->f, k->x, "sum"); }
static void same_twice(named *k)
{
    cj_name(k->f, k->x, "sum"), cj_name(k->f, k->x, "other");
    cj_name(k->f, k->y, "sum");
}
static void special(named *k) { cj_name(k->f, k->x, "tid"); }
static void of_printer(named *k) { cj_name(k->f, k->x, "f1"), cj_name(k->f, k->y, "f"); }
static void vector(named *k)
{
    cj_val v = cj_vec(k->f, k->x, k->y);
    cj_name(k->f, v, "acc");
}
static void number(named *k) { cj_name(k->f, cj_imm_f32(k->f, 1), "one"), cj_name(k->f, (cj_val){ 0 }, "none"); }
static void variable(named *k) { cj_shared(k->f, "sum", CJ_F32, 4), cj_name(k->f, k->x, "sum"); }
static void pointer(named *k) { cj_name(k->f, k->p, "data"); }

static const struct { const char *what; void (*give)(named *k); const char *has[2]; } names[] = {
    { "a register has the name", one, { "\t.reg .f32\t%sum;\n", "\tmov.f32 %sum, %f0;\n" } },
    { "so has the latest one", last, { "\t.reg .f32\t%f<4>;\n", "\tadd.rn.f32 %f3, %f1, %sum;\n" } },
    { "a second one gets a number", both, { "\tadd.rn.f32 %f3, %sum, %sum_2;\n", "\t.reg .f32\t%sum_2;\n" } },
    { "a later name holds", again, { "\tadd.rn.f32 %f4, %sum, %f3;\n", "\t.reg .f32\t%sum;\n" } },
    { "a name that is free again", same_twice, { "%other, %sum;", "\t.reg .f32\t%other;\n" } },
    { "a special register keeps its name", special, { "\t.reg .f32\t%tid_;\n", "%tid_, " } },
    { "so do the printer's", of_printer, { "\t.reg .f32\t%f1_;\n", "\tmov.f32 %f_, %f2;\n" } },
    { "a vector's registers count", vector, { "\tadd.rn.f32 %f3, %acc_0, %acc_1;", "\t.reg .f32\t%acc_1;\n" } },
    { "numbers and null have none", number, { "\tadd.rn.f32 %f4, %f1, %f3;", "\t.reg .f32\t%f<5>;\n" } },
    { "a variable has another name", variable, { "\t.shared .f32 sum[4];", "\t.reg .f32\t%sum;\n" } },
    { "a pointer is a register", pointer, { "\tcvta.to.global.u64 %data, %ud0;", "[%data+4]" } },
};

static void named_registers(void)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        named k = begin();
        names[i].give(&k);
        end(&k);
        const char *text = text_of(&k, 0);
        tap_is_int(cj_ptx_status(k.m), CJ_OK, "%s: %s", names[i].what, cj_error_of(k.m)->message);
        for (int n = 0; n < 2; n++) tap_has_str(text, names[i].has[n], "%s: %d", names[i].what, n);
        ptxas_takes(text, names[i].what);
        cj_ptx *read = cj_parse(text, strlen(text), "printed.ptx");
        tap_is_int(cj_ptx_status(read), CJ_OK, "%s: the text is read: %s", names[i].what, cj_error_of(read)->message);
        cj_ptx_free(read);
        cj_ptx_free(k.m);
    }
}

/* -- Comments ------------------------------------------------------------------------------------------------------ */

static void commented(void)
{
    uint64_t hash[2][2];
    char *plain = NULL, longest[3000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    for (int with = 0; with < 2; with++) {
        named k = begin();
        if (with) cj_comment(k.f, "adds both\n  in f32");
        end(&k);
        if (with) {
            cj_comment(k.f, "the end");
            cj_comment(k.f, "");
            for (int i = 0; i < 5; i++) cj_comment(k.f, longest);
        }
        tap_is_int(cj_ptx_hash(k.m, hash[with]), CJ_OK, "it is hashed");
        const char *text = text_of(&k, 0);
        if (!with) plain = strdup(text);
        else {
            tap_is_str(text, plain, "no comment is printed unless it is asked for");
            text = text_of(&k, CJ_PRINT_COMMENTS);
            tap_has_str(text, "\t// adds both\n\t//   in f32\n\tadd.rn.f32 ", "it is in front of the instruction");
            tap_has_str(text, "\t// the end\n\t// \n\t// xxx", "and at the end of the body");
            ptxas_takes(text, "comments");
            cj_ptx *read = cj_parse(text, strlen(text), "printed.ptx"), *copy = cj_ptx_clone(k.m);
            const char *again = NULL, *copied = NULL;
            cj_ptx_print(read, CJ_PRINT_COMMENTS, &again, NULL);
            tap_is_str(again, plain, "a text is read without its comments");
            cj_ptx_print(copy, CJ_PRINT_COMMENTS, &copied, NULL);
            tap_is_str(copied, text_of(&k, CJ_PRINT_COMMENTS), "a clone has them");
            cj_ptx_free(read);
            cj_ptx_free(copy);
        }
        cj_ptx_free(k.m);
    }
    tap_ok(!memcmp(hash[0], hash[1], sizeof *hash), "the hash is that of the module without comments");
    free(plain);
}

/* -- Errors -------------------------------------------------------------------------------------------------------- */

static void no_text(named *k) { cj_comment(k->f, NULL); }
static void no_name(named *k) { cj_name(k->f, k->x, NULL); }
static void bad_name(named *k) { cj_name(k->f, k->x, "%sum"); }
static void of_another(named *k)
{
    cj_fn *f = cj_ptx_kernel(k->m, "other");
    cj_name(f, k->x, "sum");
}

static void wrong_calls(void)
{
    static const struct { void (*call)(named *k); const char *sentence; } rows[] = {
        { no_text, "cj_comment: the text is NULL" },
        { no_name, "cj_name: \"\" is not a PTX name" },
        { bad_name, "cj_name: \"%sum\" is not a PTX name" },
        { of_another, "cj_name: the value" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        named k = begin();
        rows[i].call(&k);
        tap_has_str(cj_error_of(k.m)->message, rows[i].sentence, "wrong call %zu", i);
        cj_ptx_free(k.m);
    }
}

int main(void)
{
    tap_plan(0);
    named_registers();
    commented();
    wrong_calls();
    return tap_done();
}
