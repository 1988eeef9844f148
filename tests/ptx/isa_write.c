#include "ptx/isa_ids.h"
#include "ptx/isa_table.h"
#include "isa_write.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a register of that type is declared: there is no .bf16 register. */
static const char *declared(unsigned type)
{
    return type == CJ_BF16 ? "b16" : type == CJ_BF16X2 ? "b32" : cji_type_word(type);
}

static void type_needs(unsigned type, uint8_t *version, cji_targets *targets)
{
    if (type != CJ_B128 && type != CJ_F16X2) return;
    uint8_t least = type == CJ_B128 ? 83 : 42;
    if (*version < least) *version = least;
    *targets &= cji_target_runs((uint32_t)cji_target_find(type == CJ_B128 ? "sm_70" : "sm_53", 5));
}

/* Register types of the mask, the instruction's own type first. */
static unsigned nth_type(const cji_isa_opnd *o, uint32_t mask, unsigned way)
{
    if (mask >> o->type & 1 && o->type && way-- == 0) return o->type;
    for (unsigned t = 1; t < CJ_TYPE_COUNT; t++)
        if (mask >> t & 1 && t != o->type && way-- == 0) return t;
    return CJ_VOID;
}

typedef struct pen { char *out; size_t n, i; uint8_t *version; cji_targets *targets; } pen;

static void put(pen *p, const char *fmt, ...)
#if defined __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
static void put(pen *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int w = vsnprintf(p->out + p->n, ISA_LINE - p->n, fmt, ap);
    va_end(ap);
    if (w > 0 && (size_t)w < ISA_LINE - p->n) p->n += (size_t)w;
}

static void put_reg(pen *p, unsigned type, unsigned k)
{
    put(p, "%%%s_%u", declared(type), (unsigned)(p->i + k) % 12);
    type_needs(type, p->version, p->targets);
}

static bool put_vec(pen *p, const cji_isa_opnd *o, unsigned count, unsigned way)
{
    bool loose = (o->role & CJI_WRITE) ? o->sink1 : o->literal & CJI_CLS_INT;
    unsigned type = nth_type(o, o->types, way), plain = nth_type(o, o->types, 0);
    if (!type) {
        unsigned n = 0;
        while (nth_type(o, o->types, n)) n++;
        if (way != n || !loose || !count) return false;
        type = plain;
    } else {
        loose = false;
    }
    put(p, "{");
    for (unsigned i = 0; i < count; i++) {
        if (i) put(p, ", ");
        if (loose && i + 1 == count) put(p, "%s", o->role & CJI_WRITE ? "_" : "1");
        else put_reg(p, type, i);
    }
    put(p, "}");
    return true;
}

static const char *symbol_of(unsigned space)
{
    static const char *const names[] = { "gv", NULL, NULL, "cv", "gv", "lv", "kp", "sv" };
    return space < 8 ? names[space] : NULL;
}

static bool put_mem(pen *p, const cji_isa_form *f, const cji_isa_opnd *o, unsigned way)
{
    const char *symbol = o->space == CJI_SP_PARAM && f->effect & CJI_FX_WRITE ? "pp" : symbol_of(o->space);
    static const char *const plain[] = { "[%b64_9]", "[%b64_9+16]", "[%u64_9]", "[%s64_9+-16]", "[%b32_9]" };
    static const char *const narrow[] = { "[%b32_9]", "[%u32_9]", "[%s32_9+16]" };
    if (!(o->types >> CJ_B64 & 1)) return way < 3 && (put(p, "%s", narrow[way]), true);
    if (way < 5) put(p, "%s", plain[way]);
    else if (way == 5) put(p, "[%s]", symbol);
    else if (way == 6) put(p, "[%s+16]", symbol);
    else return false;
    return true;
}

static bool put_texmem(pen *p, const cji_isa_opnd *o, unsigned way)
{
    unsigned type = nth_type(o, o->types, way);
    if (!type) return false;
    put(p, "[%%b64_9, {");
    cji_isa_opnd lead = { .type = o->type2, .types = o->types2 };
    for (unsigned i = 0; i < o->count2; i++) { put_reg(p, nth_type(&lead, lead.types, 0), i); put(p, ", "); }
    for (unsigned i = 0; i < o->count; i++) { if (i) put(p, ", "); put_reg(p, type, i + 2); }
    put(p, "}]");
    return true;
}

static bool put_literal(pen *p, const cji_isa_opnd *o, unsigned way)
{
    if (o->lo <= o->hi) {
        int64_t v = way == 0 ? o->lo : way == 1 ? o->hi : o->lo + (o->step == 255 ? o->lo : o->step);
        if (way > 2 || (way == 2 && v >= o->hi)) return false;
        put(p, "%lld", (long long)v);
        return true;
    }
    static const struct { uint8_t kind; const char *text;
    } all[] = { { CJI_CLS_INT, "1" },
                { CJI_CLS_INT, "-2" },
                { CJI_CLS_INT, "0x7fff" },
                { CJI_CLS_F32, "0f3f000000" },
                { CJI_CLS_F64, "0d3fe0000000000000" },
                { CJI_CLS_F64, "0.5" } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (o->literal & all[i].kind && way-- == 0) return put(p, "%s", all[i].text), true;
    return false;
}

/* The ways of one operand, in one numbering: registers or their like, then literals, then the special kinds. */
static bool put_operand(pen *p, const cji_isa_form *f, const cji_isa_opnd *o, unsigned way)
{
    uint32_t k = o->kinds;
    if (k & 1u << CJI_K_MEM) return put_mem(p, f, o, way);
    if (k & 1u << CJI_K_TEXMEM) return put_texmem(p, o, way);
    unsigned regs = 0;
    while (nth_type(o, o->types, regs)) regs++;
    if (k & 1u << CJI_K_VEC && !o->one) {
        if (way <= regs) {
            size_t n = p->n;
            if (put_vec(p, o, o->count, way)) return true;
            p->n = n;
        }
        way -= regs + 1;
        if (way == 0 && k & 1u << CJI_K_PAIR) {
            put_vec(p, o, o->count, 0);
            put(p, "|%%pred_6");
            if (*p->version < o->pair_version) *p->version = o->pair_version;
            *p->targets &= cji_target_set(o->pair_targets);
            return true;
        }
        return false;
    }
    if (k & (1u << CJI_K_REG | 1u << CJI_K_PAIR)) {
        if (way < regs) {
            put_reg(p, nth_type(o, o->types, way), 0);
            if (!(k & 1u << CJI_K_REG)) put(p, "|%%pred_6");
            return true;
        }
        way -= regs;
    }
    if (k & 1u << CJI_K_IMM) {
        unsigned n = 0;
        size_t start = p->n;
        for (; put_literal(p, o, n); n++) {
            if (n == way) return true;
            p->n = start;
        }
        p->n = start;
        way -= n;
    }
    static const struct { uint32_t kind; const char *text;
    } fixed[] = {
        { CJI_K_LABEL, "L1" },     { CJI_K_TARGETS, "ts" }, { CJI_K_SINK, "_" },
        { CJI_K_NOT, "!%pred_7" }, { CJI_K_FUNC, NULL },    { CJI_K_SYM, NULL },
    };
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (!(k & 1u << fixed[i].kind)) continue;
        const char *text = fixed[i].text;
        if (!text) text = cji_type_bits(o->type) >= 32 ? fixed[i].kind == CJI_K_SYM ? symbol_of(o->space) : "f0" : NULL;
        if (!text || way-- != 0) continue;
        put(p, "%s", text);
        return true;
    }
    if (o->one && way < regs) {
        put(p, "{");
        put_reg(p, nth_type(o, o->types, way), 0);
        put(p, "}");
        return true;
    }
    if (o->one) way -= regs;
    if (k & 1u << CJI_K_SREG && way-- == 0) {
        put(p, "%s",
            cji_type_bits(o->type) == 64 ? "%clock64"
            : o->type == CJ_PRED         ? "%is_explicit_cluster"
                                         : "%tid.x");
        if (o->type == CJ_PRED && *p->version < 78) *p->version = 78;
        if (o->type == CJ_PRED) *p->targets &= cji_target_runs((uint32_t)cji_target_find("sm_90", 5));
        return true;
    }
    if (k & 1u << CJI_K_PAIR && k & 1u << CJI_K_REG) {
        static const char *const second[] = { "%pred_6", "_" };
        if (way < 2 && (way == 0 || o->sink2)) {
            put_reg(p, nth_type(o, o->types, 0), 0);
            put(p, "|%s", second[way]);
        } else if (way == 2 && o->sink1) {
            put(p, "_|%%pred_6");
        } else return false;
        if (*p->version < o->pair_version) *p->version = o->pair_version;
        *p->targets &= cji_target_set(o->pair_targets);
        return true;
    }
    return false;
}

/* call takes what its callee has. */
static bool write_call(pen *p, const cji_isa_form *f, size_t which, unsigned way)
{
    bool result = false, after = false;
    size_t callee = 0;
    while (callee < f->nopnd && f->opnd[callee].kinds == 1u << CJI_K_LIST) { result = true; callee++; }
    bool direct = f->opnd[callee].kinds & 1u << CJI_K_FUNC;
    bool list = callee + 1 < f->nopnd && f->opnd[callee + 1].kinds & 1u << CJI_K_LIST;
    after = list && (!f->opnd[callee + 1].optional || (which == callee + 1 && way == 0));
    if (!((which == 0 && way == 0) || (which == callee + 1 && way == 0 && list))) return false;
    put(p, " %s", result ? "(%f32_0), " : "");
    if (direct) put(p, "%s%s", result ? "g" : "f", after ? "2, (%f32_1, %f32_2)" : "0");
    else put(p, "%%b64_3%s, p%d%d", after ? ", (%f32_1, %f32_2)" : "", result, after);
    put(p, ";");
    return true;
}

bool isa_write(const cji_isa_form *f, size_t which, unsigned way, char *line, uint8_t *version, cji_targets *targets)
{
    pen p = { line, 0, 0, version, targets };
    *version = f->version;
    *targets = cji_target_set(f->targets);
    put(&p, "%s", f->text);
    if (f->op == CJI_OP_CALL) return write_call(&p, f, which, way);
    if (!f->nopnd && (which || way)) return false;
    for (p.i = 0; p.i < f->nopnd; p.i++) {
        const cji_isa_opnd *o = &f->opnd[p.i];
        if (o->optional && which < p.i) break;
        put(&p, "%s", p.i ? ", " : " ");
        if (!put_operand(&p, f, o, which == p.i ? way : 0)) return false;
        if (*version < o->version) *version = o->version;
        *targets &= cji_target_set(o->targets);
    }
    put(&p, ";");
    return true;
}

bool isa_write_wrong(const cji_isa_form *f, size_t which, unsigned way, char *line, const char **what)
{
    uint8_t version = 0;
    cji_targets targets = 0;
    pen p = { line, 0, 0, &version, &targets };
    if (f->op == CJI_OP_CALL) return false;
    put(&p, "%s", f->text);
    size_t n = f->nopnd;
    if (which == n) {
        if (way > 1 || (way == 1 && (!n || f->opnd[n - 1].optional))) return false;
        *what = way ? "one operand too few" : "one operand too many";
        n -= way;
    }
    for (p.i = 0; p.i < n; p.i++) {
        const cji_isa_opnd *o = &f->opnd[p.i];
        put(&p, "%s", p.i ? ", " : " ");
        if (p.i != which) { put_operand(&p, f, o, 0); continue; }
        uint32_t regs = 1u << CJI_K_REG | 1u << CJI_K_VEC;
        if (!(o->kinds & regs) && !(o->kinds & 1u << CJI_K_IMM)) return false;
        bool vec = o->kinds & 1u << CJI_K_VEC && !o->one;
        /* a register of each type that the mask does not have, a vector of another length, a literal that may not stand
         * there */
        uint32_t accident = 1u << CJ_BF16 | 1u << CJ_BF16X2 | 1u << CJ_F16X2;
        uint32_t wrong = ((1u << CJ_TYPE_COUNT) - 2) & ~(o->types | accident);
        unsigned type = nth_type(o, wrong, way), count = 0;
        while (nth_type(o, wrong, count)) count++;
        cji_isa_opnd bad = *o;
        bad.types = wrong;
        if (type) {
            *what = "a register of the wrong type";
            if (vec) put_vec(&p, &bad, o->count, way);
            else put_reg(&p, type, 0);
            continue;
        }
        way -= count;
        if (vec && way < 1) { *what = "a vector of the wrong length"; put_vec(&p, o, o->count + 1u, 0); continue; }
        if (!vec && way == 0 && !(o->literal & CJI_CLS_INT)) {
            *what = "an integer that may not stand there";
            put(&p, "1");
            continue;
        }
        if (!vec && way == 1 && !(o->literal & CJI_CLS_F32)) {
            *what = "a float that may not stand there";
            put(&p, "0f3f800000");
            continue;
        }
        if (!vec && way == 2 && o->lo <= o->hi) {
            *what = "a literal above the range";
            put(&p, "%lld", (long long)o->hi + 1);
            continue;
        }
        if (!vec && way == 3 && o->lo <= o->hi) {
            *what = "a literal below the range";
            put(&p, "%lld", (long long)o->lo - 1);
            continue;
        }
        if (!vec && way <= 3) return *what = NULL, true; /* no such mistake here: ask for the next way */
        return false;
    }
    if (which == f->nopnd && way == 0) put(&p, "%s%%b32_9", n ? ", " : " ");
    put(&p, ";");
    return true;
}

/* Two registers of a vector: pair number `way` of the types that the place takes. */
static bool put_unlike(pen *p, const cji_isa_opnd *o, unsigned way)
{
    unsigned n = 0;
    while (nth_type(o, o->types, n)) n++;
    if (o->count < 2 || !(o->kinds & 1u << CJI_K_VEC) || way >= n * n) return false;
    put(p, "{");
    for (unsigned i = 0; i < o->count; i++) {
        if (i) put(p, ", ");
        put_reg(p, nth_type(o, o->types, i ? way % n : way / n), i);
    }
    put(p, "}");
    return true;
}

/* The odd things that may stand there, in one numbering. */
static bool put_odd(pen *p, const cji_isa_opnd *o, unsigned way, isa_odd *what)
{
    static const char *const addresses[] = { "[kp]", "[pp]", "[16]" };
    static const char *const symbols[] = { "gv", "sv", "sv+4" };
    if (o->kinds & 1u << CJI_K_MEM) {
        *what = ISA_ODD_ADDRESS;
        return way < 3 && (put(p, "%s", addresses[way]), true);
    }
    *what = ISA_ODD_UNLIKE;
    if (put_unlike(p, o, way)) return true;
    if (o->kinds & 1u << CJI_K_VEC && !o->one) return false;
    if (!(o->kinds & 1u << CJI_K_REG)) return false;
    *what = ISA_ODD_SYMBOL;
    if (way < 3) return put(p, "%s", symbols[way]), true;
    *what = ISA_ODD_ONE;
    if (way > 3) return false;
    put(p, "{");
    put_reg(p, nth_type(o, o->types, 0), 0);
    put(p, "}");
    return true;
}

bool isa_write_odd(const cji_isa_form *f, size_t which, unsigned way, char *line, isa_odd *what)
{
    uint8_t version = 0;
    cji_targets targets = 0;
    pen p = { line, 0, 0, &version, &targets };
    if (f->op == CJI_OP_CALL || which >= f->nopnd) return false;
    put(&p, "%s", f->text);
    for (p.i = 0; p.i < f->nopnd; p.i++) {
        if (f->opnd[p.i].optional && which < p.i) break;
        put(&p, "%s", p.i ? ", " : " ");
        if (p.i != which) put_operand(&p, f, &f->opnd[p.i], 0);
        else if (!put_odd(&p, &f->opnd[p.i], way, what)) return false;
    }
    put(&p, ";");
    return true;
}

bool isa_write_swapped(const cji_isa_form *f, const char *line, unsigned k, char *out)
{
    const char *word[2] = { line, NULL };
    size_t n[2];
    if (k + 1u >= f->nwords) return false;
    for (unsigned i = 0; i < k; i++) word[0] += strcspn(word[0], ".") + 1;
    n[0] = strcspn(word[0], ".");
    word[1] = word[0] + n[0] + 1;
    n[1] = strcspn(word[1], ". ;");
    if (n[0] == n[1] && !memcmp(word[0], word[1], n[0])) return false;
    snprintf(out, ISA_LINE, "%.*s%.*s.%.*s%s", (int)(word[0] - line), line, (int)n[1], word[1], (int)n[0], word[0],
             word[1] + n[1]);
    return true;
}

static int atoi_target(const char *target) { return atoi(target + 3); }

void isa_write_head(char *out, size_t size, uint8_t version, const char *target)
{
    int n = snprintf(
        out, size,
        ".version %u.%u\n.target %s\n.address_size 64\n"
        ".global .align 16 .b8 gv[64];\n.shared .align 16 .b8 sv[64];\n.const .align 16 .b8 cv[64];\n"
        ".func f0() { ret; }\n.func f2(.reg .f32 a, .reg .f32 b) { ret; }\n"
        ".func (.reg .f32 r) g0() { ret; }\n.func (.reg .f32 r) g2(.reg .f32 a, .reg .f32 b) { ret; }\n"
        ".visible .entry k(.param .u64 kp) {\n.local .align 16 .b8 lv[64];\n.param .align 16 .b8 pp[64];\n"
        "p00: .callprototype _ ();\np01: .callprototype _ (.reg .f32 a, .reg .f32 b);\n"
        "p10: .callprototype (.reg .f32 r) _ ();\np11: .callprototype (.reg .f32 r) _ (.reg .f32 a, .reg .f32 b);\n%s",
        version / 10u, version % 10u, target,
        version >= 60 && atoi_target(target) >= 30 ? "ts: .branchtargets L1;\n" : "");
    for (unsigned t = 1; t < CJ_TYPE_COUNT; t++) {
        if (t == CJ_BF16 || t == CJ_BF16X2 || (t == CJ_B128 && (version < 83 || atoi_target(target) < 70)) ||
            (t == CJ_F16X2 && (version < 42 || atoi_target(target) < 53))) continue;
        n += snprintf(out + n, size - (size_t)n, ".reg .%s %%%s_<12>;\n", cji_type_word(t), cji_type_word(t));
    }
}

const char isa_write_tail[] = "L1: ret;\n}\n";
