/* Initial values of .texref, .samplerref and .surfref: properties by name.  Manual 5.3.
 *
 * They are kept as text in one spelling, and printed: what they say is the driver's to set. */
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

static bool opaque_put(cji_parser *p, cji_text *t, const char *s, size_t n)
{
    cji_text_put(t, s, n);
    return !t->failed || cji_parse_fail(p, CJ_ENOMEM, "no memory for initial values");
}

static bool opaque_is_one_of(const cji_lex *x, const char *const *words)
{
    for (; *words; words++)
        if (x->n == strlen(*words) && !memcmp(x->s, *words, x->n)) return true;
    return false;
}

/* wrap, linear, or a number */
static bool opaque_value(cji_parser *p, cji_text *t)
{
    static const char *const words[] = { "wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border", "nearest",
                                         "linear", NULL };
    char number[24];
    uint64_t u = 0;
    if (p->x.kind == CJI_TOK_WORD && opaque_is_one_of(&p->x, words)) {
        if (!opaque_put(p, t, p->x.s, p->x.n)) return false;
        cji_lex_next(&p->x);
        return true;
    }
    if (!cji_parse_integer(p, UINT64_MAX, "a property's value", &u)) return false;
    int n = snprintf(number, sizeof number, "%llu", (unsigned long long)u);
    return opaque_put(p, t, number, (size_t)n);
}

/* name = value {, name = value}; up to '}'. */
static bool opaque_properties(cji_parser *p, cji_text *t)
{
    static const char *const names[] = { "width", "height", "depth", "channel_data_type", "channel_order",
                                         "normalized_coords", "force_unnormalized_coords", "filter_mode",
                                         "addr_mode_0", "addr_mode_1", "addr_mode_2", "memory_layout", "array_size",
                                         "num_mipmap_levels", "num_samples", NULL };
    cji_lex *x = &p->x;
    for (bool first = true; x->kind != '}'; first = false) {
        if (!first && !cji_parse_take(p, ',', "or '}' behind a property")) return false;
        if (x->kind != CJI_TOK_WORD || !opaque_is_one_of(x, names))
            return cji_parse_expected(p, "a property such as filter_mode");
        if ((!first && !opaque_put(p, t, ", ", 2)) || !opaque_put(p, t, x->s, x->n)) return false;
        cji_lex_next(x);
        if (!cji_parse_take(p, '=', "behind a property's name") || !opaque_put(p, t, " = ", 3)) return false;
        if (!opaque_value(p, t)) return false;
    }
    return true;
}

/* { properties }, or for an array { { properties }, ... } of at most as many as it has elements. */
static bool opaque_text(cji_parser *p, const cji_var *v, cji_text *t)
{
    uint64_t n = 0;
    if (v->ndim > 1) return cji_parse_fail(p, CJ_EUNKNOWN, "initial values of an array of arrays of textures");
    if (v->ndim && (!cji_parse_take(p, '{', "around an array's values") || !opaque_put(p, t, "{", 1))) return false;
    do {
        if (n++ && !opaque_put(p, t, ", ", 2)) return false;
        if (!cji_parse_take(p, '{', "in front of properties") || !opaque_put(p, t, "{", 1)) return false;
        if (!opaque_properties(p, t) || !cji_parse_take(p, '}', "behind properties")) return false;
        if (!opaque_put(p, t, "}", 1)) return false;
    } while (v->ndim && cji_parse_maybe(p, ','));
    if (!v->ndim) return true;
    if (n > v->dim[0]) return cji_parse_fail(p, CJ_EPTX, "more initial values than elements");
    return cji_parse_take(p, '}', "behind an array's values") && opaque_put(p, t, "}", 1);
}

bool cji_parse_opaque_init(cji_parser *p, cji_var *v)
{
    cji_text text = { 0 };
    bool fine = opaque_text(p, v, &text);
    if (fine) v->properties = cji_ptx_intern(p->m, text.p, text.n);
    cji_text_free(&text);
    return fine && cji_parse_fine(p);
}
