/* Statements in the fixed names of isa_write.h, read into operands. */
#include "isa_write.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *blank(const char *s) { while (*s == ' ') s++; return s; }

/* One register, literal, symbol or _: its type is CJ_VOID for the last three. */
static const char *read_atom(const char *s, cji_isa_arg *a)
{
    static const struct { const char *name; uint8_t kind, space, limits;
    } names[] = {
        { "gv", CJI_K_SYM, CJI_SP_GLOBAL, 0 },
        { "cv", CJI_K_SYM, CJI_SP_CONST, 0 },
        { "sv", CJI_K_SYM, CJI_SP_SHARED, 0 },
        { "lv", CJI_K_SYM, CJI_SP_LOCAL, 0 },
        { "kp", CJI_K_SYM, CJI_SP_PARAM, CJI_ARG_NO_WRITE },
        { "pp", CJI_K_SYM, CJI_SP_PARAM, CJI_ARG_NO_ADDRESS },
        { "f0", CJI_K_FUNC, 0, 0 },
        { "f2", CJI_K_FUNC, 0, 0 },
        { "g0", CJI_K_FUNC, 0, 0 },
        { "g2", CJI_K_FUNC, 0, 0 },
        { "L1", CJI_K_LABEL, 0, 0 },
        { "ts", CJI_K_TARGETS, 0, 0 },
        { "p00", CJI_K_TARGETS, 0, 0 },
        { "p01", CJI_K_TARGETS, 0, 0 },
        { "p10", CJI_K_TARGETS, 0, 0 },
        { "p11", CJI_K_TARGETS, 0, 0 },
    };
    if (*s == '_' && !isalnum((unsigned char)s[1])) { a->kind = CJI_K_SINK; return s + 1; }
    if (*s == '%') {
        size_t n = strcspn(s, "_");
        int type = cji_type_find(s + 1, n - 1);
        if (type > 0 && isdigit((unsigned char)s[n + 1])) {
            a->kind = CJI_K_REG;
            a->type = (uint8_t)type;
            for (s += n + 1; isdigit((unsigned char)*s); s++) { }
            return s;
        }
        n = strcspn(s, " ,;|}]");
        int r = cji_isa_sreg_find(s, n);
        if (r < 0) return NULL;
        a->kind = CJI_K_SREG;
        a->type = cji_isa_sreg_at((uint32_t)r)->type;
        a->count = cji_isa_sreg_at((uint32_t)r)->vector;
        a->least = cji_isa_sreg_at((uint32_t)r)->least;
        return s + n;
    }
    if (isdigit((unsigned char)*s) || *s == '-') {
        size_t n = strcspn(s, " ,;|}])");
        a->kind = CJI_K_IMM;
        a->lit = s[0] == '0' && s[1] == 'f'                          ? CJI_LIT_F32
                 : (s[0] == '0' && s[1] == 'd') || memchr(s, '.', n) ? CJI_LIT_F64
                                                                     : CJI_LIT_INT;
        if (a->lit == CJI_LIT_INT) a->value = strtoll(s, NULL, 0);
        return s + n;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i].name);
        if (strncmp(s, names[i].name, n) || isalnum((unsigned char)s[n])) continue;
        a->kind = names[i].kind;
        a->space = names[i].space;
        a->limits = names[i].limits;
        return s + n;
    }
    return NULL;
}

static const char *read_vec(const char *s, cji_isa_arg *a, uint8_t *types)
{
    a->types = types;
    a->count = 0;
    for (s = blank(s + 1); *s != '}'; s = blank(*s == ',' ? s + 1 : s)) {
        cji_isa_arg e = { 0 };
        s = read_atom(s, &e);
        if (!s || a->count == 255) return NULL;
        types[a->count++] = e.kind == CJI_K_REG   ? e.type
                            : e.kind == CJI_K_IMM ? (uint8_t)(CJI_ELEM_LITERAL | e.lit)
                                                  : CJ_VOID;
        s = blank(s);
        if (*s != ',' && *s != '}') return NULL;
    }
    return s + 1;
}

static const char *read_mem(const char *s, cji_isa_arg *a, uint8_t *types)
{
    cji_isa_arg base = { 0 };
    s = read_atom(blank(s + 1), &base);
    if (!s) return NULL;
    a->kind = CJI_K_MEM;
    a->type = base.kind == CJI_K_REG ? base.type : CJ_VOID;
    a->space = base.space;
    a->limits = base.kind == CJI_K_IMM ? CJI_ARG_NUMBER : base.limits;
    while (*s == '+' || *s == '-' || isdigit((unsigned char)*s)) s++;
    s = blank(s);
    if (*s == ',') {
        a->kind = CJI_K_TEXMEM;
        s = blank(s + 1);
        if (*s != '{') {
            cji_isa_arg sampler = { 0 };
            s = read_atom(s, &sampler);
            if (!s || *s != ',') return NULL;
            a->sampler = 1;
            s = blank(s + 1);
        }
        s = *s == '{' ? read_vec(s, a, types) : NULL;
        if (!s) return NULL;
        s = blank(s);
    }
    return *s == ']' ? s + 1 : NULL;
}

static const char *read_operand(const char *s, cji_isa_arg *a, uint8_t *types)
{
    memset(a, 0, sizeof *a);
    if (*s == '[') return read_mem(s, a, types);
    if (*s == '(') { a->kind = CJI_K_LIST; s = strchr(s, ')'); return s ? s + 1 : NULL; }
    bool negated = *s == '!';
    s += negated;
    if (*s == '{') { a->kind = CJI_K_VEC; s = read_vec(s, a, types); }
    else s = read_atom(s, a);
    if (!s) return NULL;
    if (negated) a->kind = CJI_K_NOT;
    if (*s == '+' && (a->kind == CJI_K_SYM || a->kind == CJI_K_FUNC)) for (s++; isdigit((unsigned char)*s); s++) { }
    if (*s == '|') {
        cji_isa_arg second = { 0 };
        s = read_atom(s + 1, &second);
        if (!s) return NULL;
        a->first = a->kind;
        a->kind = CJI_K_PAIR;
        a->second = second.kind == CJI_K_REG ? second.type : CJ_VOID;
    }
    return s;
}

bool isa_read(const char *line, isa_line *out)
{
    out->spelling = line;
    out->len = strcspn(line, " ;");
    out->n = 0;
    const char *s = blank(line + out->len);
    while (*s && *s != ';') {
        if (out->n == 16) return false;
        s = read_operand(s, &out->arg[out->n], out->types[out->n]);
        if (!s) return false;
        out->n++;
        s = blank(s);
        if (*s == ',') s = blank(s + 1);
        else if (*s != ';') return false;
    }
    return *s == ';';
}
