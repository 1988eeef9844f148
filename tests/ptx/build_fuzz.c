/* Random calls with right, wrong, foreign and forged values: a failure with a sentence, or a module that prints; never
 * a crash. */
#include "../tap.h"

#include <cujit/ptx.h>

#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint32_t random_below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

enum { KEPT = 32 };
typedef struct play { cj_ptx *m; cj_fn *f, *g; cj_val kept[KEPT]; bool hostile; int open; } play;   /* open: blocks */

static cj_val any(play *p)
{
    cj_val v = p->kept[random_below(KEPT)];
    if (p->hostile && random_below(64) == 0) v.bits ^= (uint64_t)1 << random_below(64);
    if (p->hostile && random_below(64) == 0) v.bits = (v.bits & 0xffffffff00000000u) | random_below(1u << 31);
    return v;
}

/* Mostly one of that type: letters u f p d b, m an address, i a number, l a label; else any. */
static cj_val likely(play *p, char kind)
{
    static const char letters[] = "ufpdb";
    static const cj_type of[] = { CJ_U32, CJ_F32, CJ_PRED, CJ_U64, CJ_B32 };
    const char *at = strchr(letters, kind);
    if (random_below(p->hostile ? 40 : 400) == 0) return any(p);
    if (kind == 'm') return cj_mem(p->f, p->kept[3], 4 * (int64_t)random_below(8));
    if (kind == 'i') return cj_imm_i(p->f, random_below(9));
    if (kind == 'v') return cj_regs(p->f, CJ_F32, 2);
    for (unsigned i = 0, k = random_below(KEPT); at && i < KEPT; i++, k = (k + 1) % KEPT)
        if (cj_type_of(p->kept[k]) == of[at - letters]) return p->kept[k];
    return at ? cj_reg(p->f, of[at - letters]) : any(p);
}

static cj_type any_type(void)
{
    static const cj_type usual[] = { CJ_U32, CJ_F32, CJ_S32, CJ_U64 };
    return random_below(12) ? usual[random_below(4)] : (cj_type)random_below(CJ_TYPE_COUNT + 1);
}

static const struct { const char *op, *kinds;
} mnemonics[] = {
    { "add.u32", "uui" },
    { "add.f32", "fff" },
    { "fma.rn.f32", "ffff" },
    { "ld.global.f32", "fm" },
    { "ld.global.v2.f32", "vm" },
    { "st.global.u32", "mu" },
    { "setp.lt.u32", "pui" },
    { "setp.lt.and.u32", "puip" },
    { "selp.b32", "bubp" },
    { "mov.b64", "dd" },
    { "mov.u32", "ui" },
    { "ret", "" },
    { "shfl.sync.down.b32", "bfiii" },
    { "bar.sync", "i" },
    { "atom.global.add.u32", "umu" },
    { "cvt.rn.f32.u32", "fu" },
    { "prmt.b32", "buui" },
    { "vote.sync.ballot.b32", "bpi" },
    { "popc.b32", "uu" },
    { "min.f32", "fff" },
};

static const char *const names[] = { "a", "b", "c", "d", "tile", "x", "9", "", "%p", "a b" };

static const char *const odd[] = { "bra", "call.uni", "brx.idx", "tex.2d.v4.f32.f32", "nix.u32", "" };

static cj_val instruction(play *p)
{
    cj_val v[14];
    size_t row = random_below(sizeof mnemonics / sizeof *mnemonics), n = strlen(mnemonics[row].kinds),
           first = random_below(3) == 0 && strchr("ufpdbv", *mnemonics[row].kinds);
    const char *op = random_below(100) ? mnemonics[row].op : odd[random_below(sizeof odd / sizeof *odd)];
    if (random_below(200) == 0) n = random_below(14);
    if (first > n) first = 0;
    for (size_t i = 0; i < n; i++) v[i] = likely(p, i < strlen(mnemonics[row].kinds) ? mnemonics[row].kinds[i] : '?');
    if (first)
        return random_below(2) ? cj_def_n(p->f, op, v + 1, n - 1)
                               : cj_def_form(p->f, cj_op_find(op).form, v + 1, n - 1);
    switch (random_below(4)) {
    case 0: cj_ins_n(p->f, op, v, n); break;
    case 1: cj_ins_if_n(p->f, likely(p, 'p'), op, v, n); break;
    case 2: cj_ins_unless_n(p->f, likely(p, 'p'), op, v, n); break;
    default:
        cj_ins_form(p->f, random_below(200) ? cj_op_find(op).form : random_below(1u << 20), likely(p, 'p'), v, n);
        break;
    }
    return (cj_val){ 0 };
}

static cj_val operand(play *p)
{
    cj_val v[4] = { any(p), any(p), any(p), any(p) };
    const char *name = names[random_below(sizeof names / sizeof *names)];
    switch (random_below(22)) {
    case 0: return cj_reg(p->f, any_type());
    case 1: return cj_regs(p->f, any_type(), random_below(6));
    case 2: return cj_imm_i(p->f, (int64_t)state);
    case 3: return cj_imm_u(p->f, random_below(100));
    case 4: return cj_imm_f64(p->f, random_below(100) * 0.25);
    case 5: return cj_imm_bits(p->f, any_type(), random_below(1000));
    case 6: return cj_mem(p->f, v[0], (int64_t)random_below(100) - 50);
    case 7: return cj_vec_n(p->f, v, 1 + random_below(4));
    case 8: return cj_elem(p->f, v[0], random_below(5));
    case 9: return cj_pair(p->f, v[0], v[1]);
    case 10: return cj_not(p->f, v[0]);
    case 11: return cj_sink(p->f);
    case 12: return cj_list_n(p->f, v, random_below(4));
    case 13: return cj_fn_val(p->f, random_below(2) ? p->g : p->f);
    case 14: return cj_sreg(p->f, random_below(4) ? "%tid.x" : name);
    case 15: return cj_texmem(p->f, v[0], random_below(2) ? v[1] : (cj_val){ 0 }, v[2]);
    case 16: return cj_label(p->f);
    case 17: return cj_branch_targets(p->f, v, random_below(4));
    case 18: return cj_shared(p->f, name, any_type(), random_below(5));
    case 19: return cj_param(random_below(2) ? p->f : p->g, name, any_type());
    case 20: return cj_param_ptr(random_below(2) ? p->f : p->g, name, any_type());
    default: return cj_as_ptr(p->f, v[0], any_type(), (cj_space)random_below(9));
    }
}

static cj_val verb(play *p)
{
    static cj_val (*const one[])(cj_fn *, cj_val) = { cj_neg,  cj_abs,      cj_inv,         cj_popc, cj_mov,
                                                      cj_sqrt, cj_vote_any, cj_vote_ballot, cj_addr, cj_addr_generic };
    static cj_val (*const two[])(cj_fn *, cj_val, cj_val) = { cj_add, cj_mul,       cj_mul_wide, cj_and, cj_shl,
                                                              cj_shr, cj_lt,        cj_eq,       cj_min, cj_sub,
                                                              cj_div, cj_shfl_down, cj_shfl_xor };
    static cj_val (*const memory[])(cj_fn *, cj_val, cj_val) = { cj_get, cj_at, cj_atomic_add, cj_atomic_exch };
    static cj_val (*const three[])(cj_fn *, cj_val, cj_val, cj_val) = { cj_fma, cj_mad, cj_select, cj_atomic_cas };
    char kind = "uuffpd"[random_below(6)];
    cj_val a = likely(p, kind), b = likely(p, kind), c = likely(p, kind);
    switch (random_below(9)) {
    case 0: return one[random_below(sizeof one / sizeof *one)](p->f, a);
    case 1: case 2: return two[random_below(sizeof two / sizeof *two)](p->f, a, b);
    case 7: return three[random_below(sizeof three / sizeof *three)](p->f, a, b, c);
    case 4: return memory[random_below(2)](p->f, random_below(20) ? p->kept[3] : a, likely(p, 'u'));
    case 3:
        return random_below(2) ? cj_cvt(p->f, any_type(), a)
                               : memory[2 + random_below(2)](p->f, p->kept[14], likely(p, 'f'));
    case 5: return random_below(20) ? cj_cvt(p->f, CJ_F64, a) : cj_bits(p->f, any_type(), a);
    case 6: return random_below(20) ? cj_let(p->f, CJ_F32, likely(p, 'i')) : cj_let(p->f, any_type(), a);
    default: return cj_load(p->f, any_type(), random_below(20) ? p->kept[14] : a);
    }
}

static void statement(play *p)
{
    char kind = "uf"[random_below(2)];
    cj_val a = likely(p, kind), b = likely(p, kind), c = likely(p, 'p');
    switch (random_below(24)) {
    case 0: cj_if(p->f, c); p->open++; break;
    case 1: if (random_below(4) == 0) cj_else(p->f); break;
    case 2: case 3: case 4: if (p->open > 0 || random_below(20) == 0) cj_end(p->f), p->open--; break;
    case 5: cj_loop(p->f); p->open++; break;
    case 6: cj_while(p->f, c); p->open++; break;
    case 7: if (p->open > 0) cj_break_if(p->f, c); break;
    case 8: if (p->open > 1) cj_continue_unless(p->f, c); break;
    case 9: cj_assign(p->f, a, b); break;
    case 10: cj_set(p->f, p->kept[3], likely(p, 'u'), likely(p, 'f')); break;
    case 11: cj_store(p->f, kind == 'u' ? CJ_U32 : CJ_F32, random_below(20) ? p->kept[14] : b, a); break;
    case 12: cj_label_bind(p->f, random_below(20) ? cj_label(p->f) : any(p)); break;
    case 13: cj_warp_sync(p->f, random_below(20) ? (cj_val){ 0 } : a); break;
    case 14: cj_return_value(random_below(20) ? p->g : p->f, random_below(20) ? cj_reg(p->g, CJ_F32) : a); break;
    case 15: cj_call_n(p->f, p->g, &a, random_below(20) == 0); break;
    default: cj_set(p->f, p->kept[3], likely(p, 'u'), likely(p, 'f')); break;
    }
}

/* One module, up to its first failure; true when it printed. */
static bool game(unsigned steps, bool hostile)
{
    play p = { .m = cj_ptx_create(), .hostile = hostile };
    const char *text;
    p.f = cj_ptx_kernel(p.m, "f");
    p.g = cj_ptx_func(p.m, "g");
    static const cj_type types[] = { CJ_U32, CJ_U32, CJ_F32, CJ_PRED, CJ_U64, CJ_B32 };
    for (int i = 0; i < KEPT; i++) p.kept[i] = cj_reg(p.f, types[i % 6]);
    p.kept[3] = cj_param_ptr(p.f, "in", CJ_F32);
    p.kept[8] = cj_imm_i(p.f, 4);
    p.kept[14] = cj_mem(p.f, p.kept[3], 8);
    for (unsigned i = 0; i < steps && cj_ptx_status(p.m) == CJ_OK; i++) {
        cj_val v = { 0 };
        uint32_t which = random_below(24);
        if (which < 8) v = instruction(&p);
        else if (which < 9) v = operand(&p);
        else if (which < 16) v = verb(&p);
        else statement(&p);
        unsigned to = random_below(KEPT);
        if (v.bits && to != 3 && to != 14) p.kept[to] = v;
    }
    while (random_below(8) && p.open-- > 0) cj_end(p.f);
    cj_status s = cj_ptx_print(p.m, CJ_PRINT_LINES, &text, NULL);
    bool honest =
        s == CJ_OK ? *text != 0 : *text == 0 && cj_error_of(p.m)->status == s && strlen(cj_error_of(p.m)->message) > 8;
    if (!honest) tap_fail("status %d, message %s", s, cj_error_of(p.m)->message);
    cj_ptx *copy = cj_ptx_clone(p.m);
    if (s == CJ_OK && cj_ptx_print(copy, 0, &text, NULL) != CJ_OK)
        tap_fail("a copy does not print: %s", cj_error_of(copy)->message);
    cj_ptx_free(copy);
    cj_ptx_free(p.m);
    return s == CJ_OK;
}

int main(int argc, char **argv)
{
    unsigned games = argc > 1 ? (unsigned)atoi(argv[1]) : tap_is_slow() ? 200 : 2000, printed[2] = { 0, 0 };
    tap_plan(0);
    for (int hostile = 0; hostile < 2; hostile++) {
        state = 1;
        for (unsigned i = 0; i < games; i++) printed[hostile] += game(1 + random_below(30), hostile);
        tap_ok(printed[hostile] > 0 && printed[hostile] < games, "%s values: some modules print, some fail",
               hostile ? "forged" : "wrong");
    }
    return tap_done();
}
