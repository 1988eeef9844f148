/* Directives behind a head's parameters: launch bounds, clusters, .noreturn, pragmas.  Manual 11.4, 11.7. */
#include "ptx/build.h"
#include "ptx/parser.h"

#include <string.h>

static bool bounds_number(cji_parser *p, const char *what, bool zero, uint32_t *out)
{
    uint64_t n = 0;
    if (!cji_parse_plain(p, UINT32_MAX, "the directive's number", &n)) return false;
    if (!n && !zero) return cji_parse_fail(p, CJ_EPTX, "%s with 0", what);
    *out = (uint32_t)n;
    return true;
}

static bool bounds_one(cji_parser *p, bool zero, uint32_t *out)
{
    const char *what = cji_parse_word(p);
    cji_lex_next(&p->x);
    return bounds_number(p, what, zero, out);
}

/* N {, N {, N}}: what is left out is 1.  `zero`: 0 is as if the directive was not there. */
static bool bounds_three(cji_parser *p, bool zero, uint32_t out[3])
{
    const char *what = cji_parse_word(p);
    out[0] = out[1] = out[2] = 1;
    for (unsigned i = 0; i < 3; i++) {
        cji_lex_next(&p->x);
        if (!bounds_number(p, what, zero, &out[i])) return false;
        if (p->x.kind != ',') break;
    }
    return true;
}

static bool bounds_flag(cji_parser *p, uint8_t *flag)
{
    *flag = 1;
    cji_lex_next(&p->x);
    return true;
}

static bool bounds_pragma(cji_parser *p, uint32_t name)
{
    cj_fn *f = p->f;
    if (!cji_parse_grow(p, &f->pragma, &f->cpragma, f->npragma + 1, sizeof *f->pragma)) return false;
    f->pragma[f->npragma++] = name;
    return true;
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

/* The name that .minnctapersm had before PTX 2.0. */
static bool bounds_old_blocks(cji_parser *p, cji_bounds *b)
{
    if (p->version > 20)
        return cji_parse_fail(p, CJ_EPTX, ".maxnctapersm ended with PTX 2.0; write .minnctapersm beside .maxntid");
    return bounds_one(p, false, &b->minctas);
}

/* One directive; *known false when the token is none of them. */
static bool bounds_of_kernel(cji_parser *p, cji_bounds *b, bool *known)
{
    switch (cji_parse_directive(p)) {
    case CJI_D_MAXNTID: return cji_parse_need(p, 13, 20, ".maxntid") && bounds_three(p, false, b->maxntid);
    case CJI_D_REQNTID: return cji_parse_need(p, 21, 20, ".reqntid") && bounds_three(p, false, b->reqntid);
    case CJI_D_MINNCTAPERSM: return cji_parse_need(p, 20, 20, ".minnctapersm") && bounds_one(p, false, &b->minctas);
    case CJI_D_MAXNCTAPERSM: return bounds_old_blocks(p, b);
    case CJI_D_MAXNREG: return cji_parse_need(p, 13, 20, ".maxnreg") && bounds_one(p, false, &b->maxreg);
    case CJI_D_REQCLUSTER: return cji_parse_need(p, 78, 90, ".reqnctapercluster") && bounds_three(p, true, b->cluster);
    case CJI_D_MAXRANK: return cji_parse_need(p, 78, 90, ".maxclusterrank") && bounds_one(p, true, &b->maxrank);
    case CJI_D_EXPLICIT:
        return cji_parse_need(p, 78, 90, ".explicitcluster") && bounds_flag(p, &b->explicit_cluster);
    case CJI_D_BLOCKSARE:
        return cji_parse_need(p, 90, 90, ".blocksareclusters") && bounds_flag(p, &b->blocks_are_clusters);
    case CJI_D_PRAGMA: return cji_parse_pragma(p, bounds_pragma);
    default:
        *known = false;
        return true;
    }
}

/* That no two of them exclude each other. */
static bool bounds_agree(cji_parser *p, const cji_bounds *b)
{
    if (b->maxntid[0] && b->reqntid[0])
        return cji_parse_fail(p, CJ_EPTX, ".maxntid beside .reqntid: a kernel has one of the two");
    if (b->cluster[0] && b->maxrank)
        return cji_parse_fail(p, CJ_EPTX, ".reqnctapercluster beside .maxclusterrank: a kernel has one of the two");
    if (b->blocks_are_clusters && !(b->reqntid[0] && b->cluster[0]))
        return cji_parse_fail(p, CJ_EPTX, ".blocksareclusters needs .reqntid and .reqnctapercluster");
    return true;
}

/* -- Functions ----------------------------------------------------------------------------------------------------- */

enum { BOUNDS_PRESERVE_MOST = 232, BOUNDS_CONTROL_MOST = 9 };   /* on every target */

/* .abi_preserve N: kept as N + 1. */
static bool bounds_preserve(cji_parser *p, uint32_t most, uint32_t *out)
{
    const char *what = cji_parse_word(p);
    uint64_t n = 0;
    if (!cji_parse_need(p, 90, 80, what)) return false;
    if (*out) return cji_parse_fail(p, CJ_EPTX, "%s twice", what);
    cji_lex_next(&p->x);
    if (!cji_parse_plain(p, most, what, &n)) return false;
    *out = (uint32_t)n + 1;
    return true;
}

static bool bounds_of_function(cji_parser *p, const cj_fn *f, cji_bounds *b, bool *known)
{
    switch (cji_parse_directive(p)) {
    case CJI_D_NORETURN:
        if (f->nresult) return cji_parse_fail(p, CJ_EPTX, ".noreturn for a function that has results");
        if (b->noreturn || b->preserve || b->preserve_control)
            return cji_parse_fail(p, CJ_EPTX, ".noreturn stands once, in front of the other directives");
        return cji_parse_need(p, 64, 30, ".noreturn") && bounds_flag(p, &b->noreturn);
    case CJI_D_ABI_PRESERVE: return bounds_preserve(p, BOUNDS_PRESERVE_MOST, &b->preserve);
    case CJI_D_ABI_CONTROL: return bounds_preserve(p, BOUNDS_CONTROL_MOST, &b->preserve_control);
    case CJI_D_MAXNTID: case CJI_D_REQNTID: case CJI_D_MINNCTAPERSM: case CJI_D_MAXNCTAPERSM: case CJI_D_MAXNREG:
    case CJI_D_REQCLUSTER: case CJI_D_MAXRANK: case CJI_D_EXPLICIT: case CJI_D_BLOCKSARE: case CJI_D_PRAGMA:
        return cji_parse_fail(p, CJ_EPTX, "%s behind a .func; it is for .entry", cji_parse_word(p));
    default:
        *known = false;
        return true;
    }
}

bool cji_parse_bounds(cji_parser *p, cj_fn *f, bool again)
{
    static const cji_bounds none;
    cji_bounds now = none;
    bool known = true;
    size_t pragmas = f->npragma;
    p->f = f;
    while (known) {
        p->line = p->x.tok_line;
        if (!(f->kernel ? bounds_of_kernel(p, &now, &known) : bounds_of_function(p, f, &now, &known))) return false;
    }
    if (f->kernel && p->x.kind != '{' && (memcmp(&now, &none, sizeof now) != 0 || f->npragma > pragmas))
        return cji_parse_expected(p, "'{' behind a kernel's directives; a declaration has none");
    if (again && !f->kernel && memcmp(&now, &f->bounds, sizeof now) != 0)
        return cji_parse_fail(p, CJ_EPTX, "the directives of '%s' differ from those of its declaration above",
                              cji_short(cji_ptx_name(p->m, f->name)));
    f->bounds = now;
    return bounds_agree(p, &now);
}
