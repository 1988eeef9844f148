/* Every everyday verb with every type: built where the type is one of its own, refused with a sentence where not; ptxas
 * takes what was built. */
#include "ask_ptxas.h"

#include <cujit/ptx.h>

#include <stdio.h>
#include <string.h>

typedef cj_val (*verb1)(cj_fn *, cj_val);
typedef cj_val (*verb2)(cj_fn *, cj_val, cj_val);
typedef cj_val (*verb3)(cj_fn *, cj_val, cj_val, cj_val);

#define INTS " u16 u32 u64 s16 s32 s64 "
#define UNTYPED " b16 b32 b64 "
#define FLOATS " f32 f64 "
#define HALVES " f16 f16x2 bf16 bf16x2 "
#define WIDE " u32 u64 s32 s64 b32 b64 "

/* The result's type: "=" the operands', ">" twice as wide, else its word.  Untyped operands give unsigned results where
 * the row says so. */
static const struct row { const char *name; verb1 one; verb2 two; verb3 three; const char *types, *result;
} rows[] = {
    { "add", .two = cj_add, .types = INTS UNTYPED FLOATS HALVES, .result = "=" },
    { "sub", .two = cj_sub, .types = INTS UNTYPED FLOATS HALVES, .result = "=" },
    { "mul", .two = cj_mul, .types = INTS UNTYPED FLOATS HALVES, .result = "=" },
    { "mul_hi", .two = cj_mul_hi, .types = INTS UNTYPED, .result = "=" },
    { "mul_wide", .two = cj_mul_wide, .types = " u16 u32 s16 s32 b16 b32 ", .result = ">" },
    { "mad", .three = cj_mad, .types = INTS UNTYPED, .result = "=" },
    { "fma", .three = cj_fma, .types = FLOATS HALVES, .result = "=" },
    { "div", .two = cj_div, .types = INTS UNTYPED FLOATS, .result = "=" },
    { "rem", .two = cj_rem, .types = INTS UNTYPED, .result = "=" },
    { "min", .two = cj_min, .types = INTS UNTYPED FLOATS HALVES, .result = "=" },
    { "max", .two = cj_max, .types = INTS UNTYPED FLOATS HALVES, .result = "=" },
    { "neg", .one = cj_neg, .types = " s16 s32 s64 " FLOATS HALVES, .result = "=" },
    { "abs", .one = cj_abs, .types = " s16 s32 s64 " FLOATS HALVES, .result = "=" },
    { "sqrt", .one = cj_sqrt, .types = FLOATS, .result = "=" },
    { "rcp", .one = cj_rcp, .types = FLOATS, .result = "=" },
    { "floor", .one = cj_floor, .types = FLOATS, .result = "=" },
    { "ceil", .one = cj_ceil, .types = FLOATS, .result = "=" },
    { "trunc", .one = cj_trunc, .types = FLOATS, .result = "=" },
    { "round", .one = cj_round, .types = FLOATS, .result = "=" },
    { "approx_div", .two = cj_approx_div, .types = " f32 ", .result = "=" },
    { "approx_sqrt", .one = cj_approx_sqrt, .types = " f32 ", .result = "=" },
    { "approx_rsqrt", .one = cj_approx_rsqrt, .types = FLOATS, .result = "=" },
    { "approx_rcp", .one = cj_approx_rcp, .types = " f32 ", .result = "=" },
    { "approx_sin", .one = cj_approx_sin, .types = " f32 ", .result = "=" },
    { "approx_cos", .one = cj_approx_cos, .types = " f32 ", .result = "=" },
    { "approx_exp2", .one = cj_approx_exp2, .types = " f32 ", .result = "=" },
    { "approx_log2", .one = cj_approx_log2, .types = " f32 ", .result = "=" },
    { "and", .two = cj_and, .types = INTS UNTYPED " pred ", .result = "= keeps" },
    { "or", .two = cj_or, .types = INTS UNTYPED " pred ", .result = "= keeps" },
    { "xor", .two = cj_xor, .types = INTS UNTYPED " pred ", .result = "= keeps" },
    { "inv", .one = cj_inv, .types = INTS UNTYPED " pred ", .result = "= keeps" },
    { "popc", .one = cj_popc, .types = WIDE, .result = "u32" },
    { "clz", .one = cj_clz, .types = WIDE, .result = "u32" },
    { "brev", .one = cj_brev, .types = WIDE, .result = "= keeps" },
    { "eq", .two = cj_eq, .types = INTS UNTYPED FLOATS " f16 bf16 ", .result = "pred" },
    { "ne", .two = cj_ne, .types = INTS UNTYPED FLOATS " f16 bf16 ", .result = "pred" },
    { "lt", .two = cj_lt, .types = INTS UNTYPED FLOATS " f16 bf16 ", .result = "pred" },
    { "le", .two = cj_le, .types = INTS UNTYPED FLOATS " f16 bf16 ", .result = "pred" },
    { "gt", .two = cj_gt, .types = INTS UNTYPED FLOATS " f16 bf16 ", .result = "pred" },
    { "ge", .two = cj_ge, .types = INTS UNTYPED FLOATS " f16 bf16 ", .result = "pred" },
    { "mov", .one = cj_mov, .types = INTS UNTYPED FLOATS HALVES " pred ", .result = "= keeps" },
    { "shfl_down", .two = cj_shfl_down, .types = " u32 s32 b32 f32 f16x2 bf16x2 u64 s64 b64 f64 ",
      .result = "= keeps" },
    { "shfl_up", .two = cj_shfl_up, .types = " u32 s32 b32 f32 f16x2 bf16x2 u64 s64 b64 f64 ", .result = "= keeps" },
    { "shfl_xor", .two = cj_shfl_xor, .types = " u32 s32 b32 f32 f16x2 bf16x2 u64 s64 b64 f64 ", .result = "= keeps" },
    { "shfl_idx", .two = cj_shfl_idx, .types = " u32 s32 b32 f32 f16x2 bf16x2 u64 s64 b64 f64 ", .result = "= keeps" },
};

static const struct type_word { cj_type type; const char *word; cj_type number, twice;
} types[] = {
    { CJ_PRED, "pred", CJ_PRED, CJ_VOID }, { CJ_B16, "b16", CJ_U16, CJ_U32 },
    { CJ_B32, "b32", CJ_U32, CJ_U64 },     { CJ_B64, "b64", CJ_U64, CJ_VOID },
    { CJ_U16, "u16", CJ_U16, CJ_U32 },     { CJ_U32, "u32", CJ_U32, CJ_U64 },
    { CJ_U64, "u64", CJ_U64, CJ_VOID },    { CJ_S16, "s16", CJ_S16, CJ_S32 },
    { CJ_S32, "s32", CJ_S32, CJ_S64 },     { CJ_S64, "s64", CJ_S64, CJ_VOID },
    { CJ_F16, "f16", CJ_F16, CJ_VOID },    { CJ_F16X2, "f16x2", CJ_F16X2, CJ_VOID },
    { CJ_BF16, "bf16", CJ_BF16, CJ_VOID }, { CJ_BF16X2, "bf16x2", CJ_BF16X2, CJ_VOID },
    { CJ_F32, "f32", CJ_F32, CJ_VOID },    { CJ_F64, "f64", CJ_F64, CJ_VOID },
};

static cj_val apply(cj_fn *f, const struct row *r, cj_type type)
{
    cj_val a = cj_reg(f, type), b = cj_reg(f, type);
    if (!strncmp(r->name, "shfl", 4)) return r->two(f, a, cj_imm(f, 1));
    if (r->one) return r->one(f, a);
    return r->two ? r->two(f, a, b) : r->three(f, a, b, a);
}

static cj_type wanted_type(const struct row *r, const struct type_word *t)
{
    if (!strcmp(r->result, "=")) return t->number;
    if (!strcmp(r->result, "= keeps")) return t->type;
    if (!strcmp(r->result, ">")) return t->twice;
    return strcmp(r->result, "pred") ? CJ_U32 : CJ_PRED;
}

static bool takes(const struct row *r, const char *word)
{
    char key[12];
    snprintf(key, sizeof key, " %s ", word);
    return strstr(r->types, key) != NULL;
}

int main(void)
{
    const char *text;
    tap_plan(0);
    cj_ptx *all = cj_ptx_create();
    cj_ptx_set_target(all, "sm_90");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_fn *f = cj_ptx_kernel(all, rows[i].name);
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
            if (takes(&rows[i], types[k].word)) {
                cj_val v = apply(f, &rows[i], types[k].type);
                if (!tap_is_int(cj_type_of(v), wanted_type(&rows[i], &types[k]), "%s of .%s", rows[i].name,
                                types[k].word))
                    tap_bail("%s", cj_error_of(all)->message);
                continue;
            }
            cj_ptx *m = cj_ptx_create();
            cj_val v = apply(cj_ptx_kernel(m, "k"), &rows[i], types[k].type);
            tap_ok(!v.bits && cj_ptx_status(m) == CJ_EPTX, "no %s of .%s: %s", rows[i].name, types[k].word,
                   cj_error_of(m)->message);
            cj_ptx_free(m);
        }
    }
    tap_is_int(cj_ptx_print(all, 0, &text, NULL), CJ_OK, "all of them print");
    ptxas_takes(text, "every verb of every type");
    cj_ptx_free(all);
    return tap_done();
}
