/* The beginning of a text: .version, .target, .address_size.  Manual 11.1.
 *
 * Texts older than PTX 2.3 and for sm_10 to sm_13 are read as ptxas reads them: PTX 2.3 for sm_20 means the same,
 * but that sm_1x has no subnormal floats.  There each instruction that has an .ftz form is that form (p->flushes). */
#include "ptx/build.h"
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

/* -- .version ------------------------------------------------------------------------------------------------------ */

/* "8.0": ten times the first number plus the second; 0: it is neither. */
static unsigned target_version_of(const char *s, size_t n)
{
    unsigned part[2] = { 0, 0 }, k = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.' && !k) { k = 1; continue; }
        if (s[i] < '0' || s[i] > '9' || part[k] > 99) return 0;
        part[k] = part[k] * 10 + (unsigned)(s[i] - '0');
    }
    return part[1] < 10 ? part[0] * 10 + part[1] : 0;
}

unsigned cji_parse_version(cji_parser *p)
{
    cji_lex_next(&p->x);
    return p->x.kind == CJI_TOK_F64 ? target_version_of(p->x.s, p->x.n) : 0;
}

static bool target_version(cji_parser *p)
{
    char version[16];
    cji_lex *x = &p->x;
    if (cji_parse_directive(p) != CJI_D_VERSION) return cji_parse_expected(p, ".version at the beginning");
    p->version = cji_parse_version(p);
    if (x->kind != CJI_TOK_F64) return cji_parse_expected(p, "a version such as 8.0");
    p->line = x->tok_line;
    if (!cji_version_exists(p->version)) return cji_parse_fail(p, CJ_EPTX, "there is no PTX version %s", CJI_WORD(x));
    unsigned kept = p->version < CJI_VERSION_FLOOR ? CJI_VERSION_FLOOR : p->version;
    snprintf(version, sizeof version, "%u.%u", kept / 10 % 100, kept % 10);
    if (cj_ptx_set_version(p->m, version) != CJ_OK) return p->failed = true, false;
    cji_lex_next(x);
    return cji_parse_fine(p);
}

bool cji_parse_need(cji_parser *p, unsigned version, unsigned sm, const char *what)
{
    if (p->heads) return true;
    if (version > p->version && p->version)
        return cji_parse_fail(p, CJ_ENOTSUP, "%s needs PTX %u.%u; the module is set to %u.%u", what, version / 10,
                              version % 10, p->version / 10, p->version % 10);
    uint8_t least = version < CJI_VERSION_FLOOR ? CJI_VERSION_FLOOR : (uint8_t)version;
    if (cji_ptx_need(p->m, least, cji_targets_from(sm), what, cji_ptx_loc(p->m, p->file, p->line))) return true;
    return p->failed = true, false;
}

/* -- .target ------------------------------------------------------------------------------------------------------- */

/* Targets without a row in the table: what they are read as is sm_20. */
static unsigned target_first_version(const char *s, size_t n)
{
    static const struct { char name[6]; uint8_t since; } old[] = {
        { "sm_10", 10 }, { "sm_11", 10 }, { "sm_12", 12 }, { "sm_13", 12 },
    };
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (n == 5 && !memcmp(s, old[i].name, 5)) return old[i].since;
    return 0;
}

/* sm_90, or compute_90, which means the same. */
static bool target_name(cji_parser *p)
{
    const cji_lex *x = &p->x;
    char name[24];
    bool compute = x->n > 8 && !memcmp(x->s, "compute_", 8);
    size_t skip = compute ? 8 : 3;
    snprintf(name, sizeof name, "sm_%.*s", x->n > skip ? (int)(x->n - skip) : 0, x->s + skip);
    size_t n = strlen(name);
    bool known = compute || (x->n > 3 && !memcmp(x->s, "sm_", 3));
    unsigned since = known ? target_first_version(name, n) : 0;
    p->old_target = since != 0;
    p->no_doubles = since && name[4] < '3';
    p->flushes = since != 0;
    int target = since ? cji_target_find("sm_20", 5) : known ? cji_target_find(name, n) : -1;
    if (target < 0) return cji_parse_fail(p, CJ_EPTX, "there is no target '%s'", CJI_WORD(x));
    if (!since) since = cji_target_since((uint32_t)target);
    if (since > p->version)
        return cji_parse_fail(p, CJ_ENOTSUP, "target %s needs PTX %u.%u; .version is %u.%u", CJI_WORD(x), since / 10,
                              since % 10, p->version / 10, p->version % 10);
    if (cj_ptx_set_target(p->m, cji_target_name((uint32_t)target)) != CJ_OK) return p->failed = true, false;
    return true;
}

static bool target_texmode(cji_parser *p, bool independent)
{
    if (p->texmode && p->texmode != 1 + independent)
        return cji_parse_fail(p, CJ_EPTX, ".target has both texmode_unified and texmode_independent");
    p->texmode = 1 + independent;
    p->m->texmode_independent = independent;
    return !independent || cji_parse_need(p, 15, 20, "texmode_independent");
}

static bool target_word_is(const cji_lex *x, const char *word)
{
    return x->n == strlen(word) && !memcmp(x->s, word, x->n);
}

/* One word of .target behind the first: an option, or one more target; the last target counts. */
static bool target_option(cji_parser *p)
{
    const cji_lex *x = &p->x;
    if (target_word_is(x, "debug")) {
        p->debug_line = x->tok_line;
        return cji_parse_need(p, 30, 20, "debug");
    }
    if (target_word_is(x, "texmode_unified")) return target_texmode(p, false);
    if (target_word_is(x, "texmode_independent")) return target_texmode(p, true);
    if (target_word_is(x, "map_f64_to_f32")) {
        if (!p->no_doubles) return cji_parse_fail(p, CJ_EPTX, "map_f64_to_f32 is for targets below sm_13");
        return true;
    }
    if (x->n > 3 && (!memcmp(x->s, "sm_", 3) || !memcmp(x->s, "com", 3))) return target_name(p);
    return cji_parse_fail(p, CJ_EPTX,
                          ".target knows no '%s'; it takes sm_ names, debug, texmode_unified, texmode_independent",
                          CJI_WORD(x));
}

static bool target_line(cji_parser *p)
{
    cji_lex *x = &p->x;
    if (cji_lex_next(x) != CJI_TOK_WORD) return cji_parse_expected(p, "a target such as sm_90");
    p->line = x->tok_line;
    if (!target_name(p)) return false;
    cji_lex_next(x);
    while (cji_parse_maybe(p, ',')) {
        if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "an option of .target");
        p->line = x->tok_line;
        if (!target_option(p)) return false;
        cji_lex_next(x);
    }
    return cji_parse_fine(p);
}

/* -- .address_size ------------------------------------------------------------------------------------------------- */

static bool target_address_size(cji_parser *p)
{
    uint64_t size = 0;
    if (!cji_parse_need(p, 23, 20, ".address_size")) return false;
    cji_lex_next(&p->x);
    if (!cji_parse_integer(p, 64, ".address_size", &size)) return false;
    if (size != 32 && size != 64) return cji_parse_fail(p, CJ_EPTX, ".address_size is 32 or 64");
    p->m->address_size = (uint8_t)size;
    return true;
}

bool cji_parse_targets(cji_parser *p)
{
    if (!target_version(p)) return false;
    p->line = p->x.tok_line;
    if (cji_parse_directive(p) != CJI_D_TARGET) return cji_parse_expected(p, ".target behind .version");
    while (cji_parse_directive(p) == CJI_D_TARGET)
        if (!target_line(p)) return false;
    p->line = p->x.tok_line;
    return cji_parse_directive(p) != CJI_D_ADDRESS_SIZE || target_address_size(p);
}
