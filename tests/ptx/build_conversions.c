/* Conversions between all pairs of number types; loads, stores and atomics of all types in all spaces: built, printed,
 * taken by ptxas. */
#include "ask_ptxas.h"

#include <cujit/ptx.h>

#include <stdio.h>
#include <string.h>

static const struct number_type { cj_type type, reg; const char *word;
} numbers[] = {
    { CJ_U8, CJ_U32, "u8" },   { CJ_S8, CJ_S32, "s8" },   { CJ_U16, CJ_U16, "u16" }, { CJ_S16, CJ_S16, "s16" },
    { CJ_U32, CJ_U32, "u32" }, { CJ_S32, CJ_S32, "s32" }, { CJ_U64, CJ_U64, "u64" }, { CJ_S64, CJ_S64, "s64" },
    { CJ_F32, CJ_F32, "f32" }, { CJ_F64, CJ_F64, "f64" },
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void convert_all(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "convert");
    for (int d = 0; d < NUMBERS; d++)
        for (int a = 2; a < NUMBERS; a++) {
            cj_val v = cj_cvt(f, numbers[d].type, cj_reg(f, numbers[a].type));
            tap_is_int(cj_type_of(v), numbers[d].reg, "%s to %s", numbers[a].word, numbers[d].word);
        }
    tap_is_int(cj_type_of(cj_cvt(f, CJ_PRED, cj_reg(f, CJ_F32))), CJ_PRED, "f32 to predicate");
    tap_is_int(cj_type_of(cj_cvt(f, CJ_S64, cj_reg(f, CJ_PRED))), CJ_S64, "predicate to s64");
    tap_is_int(cj_type_of(cj_bits(f, CJ_U32, cj_reg(f, CJ_F32))), CJ_U32, "the bits of an f32");
    tap_is_int(cj_type_of(cj_bits(f, CJ_F64, cj_reg(f, CJ_B64))), CJ_F64, "an f64 of its bits");
    tap_is_int(cj_type_of(cj_let(f, CJ_BF16, cj_imm(f, 1.0))), CJ_BF16, "a bf16 of a number");
}

static void load_and_store(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "memory");
    char name[32];
    for (int t = 0; t < NUMBERS; t++) {
        snprintf(name, sizeof name, "p_%s", numbers[t].word);
        cj_val p = cj_param_ptr(f, name, numbers[t].type);
        snprintf(name, sizeof name, "g_%s", numbers[t].word);
        cj_val g = cj_param_ptr_in(f, name, numbers[t].type, CJ_SPACE_GENERIC, 0);
        snprintf(name, sizeof name, "s_%s", numbers[t].word);
        cj_val s = cj_shared(f, name, numbers[t].type, 64);
        snprintf(name, sizeof name, "l_%s", numbers[t].word);
        cj_val l = cj_local(f, name, numbers[t].type, 8);
        cj_val i32 = cj_thread_id(f, CJ_X), s64 = cj_cvt(f, CJ_S64, i32), u16 = cj_cvt(f, CJ_U16, i32);
        cj_val v = cj_get(f, p, i32);
        tap_is_int(cj_type_of(v), numbers[t].reg, "an %s is read into a register", numbers[t].word);
        cj_set(f, g, s64, v);
        cj_set(f, s, i32, cj_get(f, g, u16));
        cj_set(f, l, cj_imm(f, 3), cj_get(f, s, s64));
        cj_set(f, p, cj_imm(f, -2), cj_get(f, l, u16));
        cj_set(f, cj_at(f, p, i32), cj_imm(f, 1), cj_imm(f, 7));
        cj_val a = cj_addr_generic(f, cj_at(f, s, i32));
        cj_store(f, numbers[t].type, a, cj_load(f, numbers[t].type, cj_addr(f, cj_at(f, l, cj_imm(f, 1)))));
    }
}

static void atomics(cj_ptx *m)
{
    static const struct { const char *name; cj_val (*verb)(cj_fn *, cj_val, cj_val); const char *types;
    } ops[] = {
        { "add", cj_atomic_add, " u32 s32 u64 s64 f32 f64 " },
        { "min", cj_atomic_min, " u32 s32 u64 s64 " },
        { "max", cj_atomic_max, " u32 s32 u64 s64 " },
        { "and", cj_atomic_and, " u32 s32 u64 s64 " },
        { "or", cj_atomic_or, " u32 s32 u64 s64 " },
        { "xor", cj_atomic_xor, " u32 s32 u64 s64 " },
        { "exch", cj_atomic_exch, " u32 s32 u64 s64 f32 f64 " },
    };
    cj_fn *f = cj_ptx_kernel(m, "atomics");
    for (int t = 4; t < NUMBERS; t++) {
        char name[32], key[16];
        snprintf(name, sizeof name, "p%d", t);
        cj_val p = cj_param_ptr(f, name, numbers[t].type), v = cj_reg(f, numbers[t].type);
        snprintf(name, sizeof name, "s%d", t);
        cj_val s = cj_shared(f, name, numbers[t].type, 4);
        snprintf(key, sizeof key, " %s ", numbers[t].word);
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            if (!strstr(ops[i].types, key)) continue;
            cj_val old = ops[i].verb(f, cj_at(f, p, cj_thread_id(f, CJ_X)), v);
            ops[i].verb(f, s, v);
            ops[i].verb(f, p, cj_imm(f, 3));
            tap_is_int(cj_type_of(old), numbers[t].type, "atomic %s of %s", ops[i].name, numbers[t].word);
        }
        tap_is_int(cj_type_of(cj_atomic_cas(f, p, v, v)), numbers[t].type, "atomic cas of %s", numbers[t].word);
    }
}

int main(void)
{
    const char *text;
    tap_plan(0);
    cj_ptx *m = cj_ptx_create();
    convert_all(m);
    load_and_store(m);
    atomics(m);
    cj_fn *f = cj_ptx_kernel(m, "threads");
    cj_val p = cj_lt(f, cj_lane_id(f), cj_global_size(f, CJ_Z));
    cj_block_sync(f);
    cj_warp_sync(f, (cj_val){ 0 });
    cj_warp_sync(f, cj_vote_ballot(f, cj_not(f, p)));
    cj_fence_block(f);
    cj_fence_device(f);
    cj_fence_system(f);
    cj_val any = cj_vote_any(f, p), every = cj_vote_all(f, cj_not(f, p));
    cj_val all = cj_and(f, any, cj_or(f, every, cj_not(f, cj_vote_uni(f, p))));
    cj_val i = cj_select(f, cj_not(f, all), cj_imm(f, 1), cj_global_id(f, CJ_Y));
    tap_is_int(cj_type_of(cj_shl(f, i, cj_imm(f, 3))), CJ_U32, "a shift keeps its type");
    tap_is_int(cj_type_of(cj_shr(f, cj_reg(f, CJ_S64), i)), CJ_S64, "a shift of 64 bits by a 32-bit count");
    if (!tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "it prints")) tap_bail("%s", cj_error_of(m)->message);
    ptxas_takes(text, "conversions, loads, stores, atomics");
    cj_ptx_free(m);
    return tap_done();
}
