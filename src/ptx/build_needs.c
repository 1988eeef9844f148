/* What a module needs: the least PTX version and target over everything it uses, and what its caller fixed. */
#include <string.h>

#include "base/first.h"
#include "ptx/build.h"
#include "ptx/isa_ids.h"
#include "ptx/layout.h"

static cji_targets bit(int target) { return (cji_targets)1 << target; }

static bool version_short(cj_ptx *m, uint8_t version, const char *what, uint32_t loc)
{
    if (!m->fixed_version || version <= m->fixed_version) return false;
    cji_ptx_fail(m, CJ_ENOTSUP, "cj_ptx", loc, "%s needs PTX %d.%d; the module is set to %d.%d", what, version / 10,
                 version % 10, m->fixed_version / 10, m->fixed_version % 10);
    return true;
}

static bool target_short(cj_ptx *m, cji_targets targets, const char *what, uint32_t loc)
{
    char list[120];
    if (m->fixed_target >= 0) {
        if (targets & bit(m->fixed_target)) return false;
        cji_target_list(targets, list, sizeof list);
        cji_ptx_fail(m, CJ_ENOTSUP, "cj_ptx", loc, "%s needs target %s; the module is set to %s", what, list,
                     cji_target_name((uint32_t)m->fixed_target));
        return true;
    }
    if (m->need_targets & targets) return false;
    char have[120];
    cji_target_list(targets, list, sizeof list);
    cji_target_list(m->need_targets, have, sizeof have);
    cji_ptx_fail(m, CJ_ENOTSUP, "cj_ptx", loc, "%s needs target %s; what the module uses already needs %s", what, list,
                 have);
    return true;
}

bool cji_ptx_need(cj_ptx *m, uint8_t version, cji_targets targets, const char *what, uint32_t loc)
{
    if (version_short(m, version, what, loc) || target_short(m, targets, what, loc)) return false;
    if (version > m->need_version) m->need_version = version;
    m->need_targets &= targets;
    return true;
}

cji_targets cji_targets_from(unsigned sm)
{
    cji_targets set = 0;
    if (sm <= 20) return cji_target_count() < 64 ? ((cji_targets)1 << cji_target_count()) - 1 : ~(cji_targets)0;
    for (uint32_t i = 0; i < cji_target_count(); i++) {
        const char *digits = cji_target_name(i) + 3;
        unsigned number = 0;
        while (*digits >= '0' && *digits <= '9') number = number * 10 + (unsigned)(*digits++ - '0');
        if (number >= sm) set |= bit((int)i);
    }
    return set;
}

bool cji_ptx_need_sreg(cj_ptx *m, uint32_t sreg, uint32_t loc)
{
    const cji_isa_sreg *s = cji_isa_sreg_at(sreg);
    return cji_ptx_need(m, s->version, cji_target_set(s->targets), s->name, loc);
}

static cj_status gone_failure(cj_ptx *m, uint8_t version, int target)
{
    char name[40];
    cji_form_short(m->form[m->gone_form], name, sizeof name, 16);
    return cji_ptx_fail(m, CJ_ENOTSUP, "cj_ptx", m->gone_loc,
                        "%s does not exist from PTX %d.%d on for %s; use its form with%s", name, version / 10,
                        version % 10,
                        target < 0 ? "the targets that the rest needs" : cji_target_name((uint32_t)target),
                        cji_isa_has(m->form[m->gone_form]->isa, CJI_W_SATFINITE) ? "out .satfinite" : " .sync");
}

static bool is_gone(const cj_ptx *m, uint8_t version, int target)
{
    return m->gone_version && version >= m->gone_version && (m->gone_targets & bit(target));
}

/* A form that has ended somewhere: remembered, and held against what is fixed. */
static bool note_end(cj_ptx *m, const cji_form *e, uint32_t loc)
{
    m->gone_targets |= e->gone;
    if (!m->gone_version || e->isa->end_version < m->gone_version) {
        m->gone_version = e->isa->end_version;
        m->gone_form = e->index;
        m->gone_loc = loc;
    }
    if (m->fixed_target < 0 || !m->fixed_version || !is_gone(m, m->fixed_version, m->fixed_target)) return true;
    gone_failure(m, m->gone_version, m->fixed_target);
    return false;
}

static bool is_late(const cj_ptx *m, uint8_t version, int target)
{
    return version < m->late_version && (m->late_targets & bit(target));
}

static cj_status late_failure(cj_ptx *m)
{
    char name[40];
    cji_form_short(m->form[m->late_form], name, sizeof name, 16);
    return cji_ptx_fail(m, CJ_ENOTSUP, "cj_ptx", m->late_loc, "%s needs PTX %d.%d on %s; the module is set to %d.%d",
                        name, m->late_version / 10, m->late_version % 10,
                        cji_target_name((uint32_t)m->fixed_target), m->fixed_version / 10, m->fixed_version % 10);
}

/* A form that came later to some targets than to others: remembered, and held against what is fixed. */
static bool note_late(cj_ptx *m, const cji_form *e, uint32_t loc)
{
    m->late_targets |= cji_target_set(e->isa->late_targets);
    if (e->isa->late_version > m->late_version) {
        m->late_version = e->isa->late_version;
        m->late_form = e->index;
        m->late_loc = loc;
    }
    if (m->fixed_target < 0 || !m->fixed_version || !is_late(m, m->fixed_version, m->fixed_target)) return true;
    late_failure(m);
    return false;
}

bool cji_form_need(cj_ptx *m, cji_form *e, uint32_t loc)
{
    char name[40];
    if (!m->fixed_version && m->fixed_target < 0 && m->need_targets & e->targets) { /* nothing to be said */
        if (e->isa->version > m->need_version) m->need_version = e->isa->version;
        m->need_targets &= e->targets;
    } else {
        cji_form_short(e, name, sizeof name, 16);
        if (!cji_ptx_need(m, e->isa->version, e->targets, name, loc)) return false;
    }
    if (e->isa->end_version && !note_end(m, e, loc)) return false;
    if (e->isa->late_version && !note_late(m, e, loc)) return false;
    e->used = 1;
    return true;
}

/* ---- Fixing ------------------------------------------------------------------------------------------------------ */

/* The first instruction that does not fit what has just been fixed, for the message; else the directives did it. */
static void blame(cj_ptx *m, const char *call)
{
    char name[40];
    for (size_t i = 0; i < m->nfn; i++) {
        const cj_fn *f = m->fn[i];
        for (size_t k = 0; k < f->nins; k++) {
            const cji_form *e = cji_ins_form(m, &f->ins[k]);
            if (!e) continue;
            cji_form_short(e, name, sizeof name, 16);
            if (version_short(m, e->isa->version, name, f->ins[k].loc) ||
                target_short(m, e->targets, name, f->ins[k].loc))
                return;
            if (e->isa->end_version && !note_end(m, e, f->ins[k].loc)) return;
            if (e->isa->late_version && !note_late(m, e, f->ins[k].loc)) return;
        }
    }
    if (version_short(m, m->need_version, "what the module declares", m->loc) ||
        target_short(m, m->need_targets, "what the module declares", m->loc))
        return;
    cji_ptx_fail(m, CJ_ENOTSUP, call, m->loc, "%s: the module needs more", call);
}

static bool fits(const cj_ptx *m)
{
    if (m->fixed_version && m->need_version > m->fixed_version) return false;
    if (m->fixed_target < 0) return true;
    if (!(m->need_targets & bit(m->fixed_target))) return false;
    if (m->fixed_version && is_late(m, m->fixed_version, m->fixed_target)) return false;
    return !is_gone(m, m->fixed_version, m->fixed_target);
}

bool cji_version_exists(unsigned version)
{
    static const uint8_t last[] = { 0, 5, 3, 2, 3, 1, 5, 8, 8 };   /* the last minor number of each major one */
    unsigned major = version / 10;
    return major >= 1 && version < 100 && (major >= sizeof last || version % 10 <= last[major]);
}

cj_status cj_ptx_set_version(cj_ptx *m, const char *version)
{
    if (!cji_ptx_open_same(m, __func__)) return cj_ptx_status(m) != CJ_OK ? cj_ptx_status(m) : CJ_ESTATE;
    const char *v = version ? version : "";
    bool good = v[0] >= '1' && v[0] <= '9' && v[1] == '.' && v[2] >= '0' && v[2] <= '9' && !v[3];
    int number = good ? (v[0] - '0') * 10 + (v[2] - '0') : 0;
    if (number < CJI_VERSION_FLOOR || !cji_version_exists((unsigned)number))
        return cji_ptx_fail(m, CJ_EINVAL, __func__, m->loc,
                            "%s: \"%.20s\" is not a PTX version from 2.3 on, such as \"8.0\"", __func__, v);
    if (m->fixed_target >= 0 && cji_target_since((uint32_t)m->fixed_target) > number)
        return cji_ptx_fail(m, CJ_ENOTSUP, __func__, m->loc, "%s: target %s needs PTX %d.%d", __func__,
                            cji_target_name((uint32_t)m->fixed_target),
                            cji_target_since((uint32_t)m->fixed_target) / 10,
                            cji_target_since((uint32_t)m->fixed_target) % 10);
    m->fixed_version = (uint8_t)number;
    if (!fits(m)) blame(m, __func__);
    return cj_ptx_status(m);
}

cj_status cj_ptx_set_target(cj_ptx *m, const char *target)
{
    if (!cji_ptx_open_same(m, __func__)) return cj_ptx_status(m) != CJ_OK ? cj_ptx_status(m) : CJ_ESTATE;
    int t = target ? cji_target_find(target, strlen(target)) : -1;
    if (t < 0)
        return cji_ptx_fail(m, CJ_EINVAL, __func__, m->loc,
                            "%s: \"%.20s\" is not a target, such as \"sm_80\" or \"sm_90a\"", __func__,
                            target ? target : "");
    if (m->fixed_version && cji_target_since((uint32_t)t) > m->fixed_version)
        return cji_ptx_fail(m, CJ_ENOTSUP, __func__, m->loc,
                            "%s: target %s needs PTX %d.%d; the module is set to %d.%d", __func__, target,
                            cji_target_since((uint32_t)t) / 10, cji_target_since((uint32_t)t) % 10,
                            m->fixed_version / 10, m->fixed_version % 10);
    m->fixed_target = (int16_t)t;
    if (!fits(m)) blame(m, __func__);
    return cj_ptx_status(m);
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

/* The fixed target, else the least of those allowed that has not lost something used; the version it takes. */
static CJI_FIRST int pick_target(const cj_ptx *m, uint8_t *version)
{
    *version = m->need_version;
    if (m->fixed_target >= 0) {
        uint8_t since = cji_target_since((uint32_t)m->fixed_target);
        if (since > *version) *version = since;
        if (is_late(m, *version, m->fixed_target)) *version = m->late_version;
        return m->fixed_target;
    }
    cji_targets set = m->need_targets;
    if (m->gone_version && *version >= m->gone_version) set &= ~m->gone_targets;
    if (m->fixed_version && m->fixed_version < m->late_version) set &= ~m->late_targets;
    int target = cji_target_least(set, version);
    if (target >= 0 && is_late(m, *version, target)) *version = m->late_version;
    return target;
}

CJI_FIRST int cji_ptx_pick(const cj_ptx *m, unsigned flags, uint8_t *version)
{
    int target = (int)(flags >> CJI_PRINT_TARGET) - 1;
    if (target >= 0) {
        *version = cji_ptx_version_with(m, target);
        return target;
    }
    target = pick_target(m, version);
    if (m->fixed_version) *version = m->fixed_version;
    return target;
}

/* ---- For a device ------------------------------------------------------------------------------------------------ */

cji_targets cji_ptx_able(const cj_ptx *m)
{
    return m->fixed_target >= 0 ? bit(m->fixed_target) & m->need_targets : m->need_targets;
}

uint8_t cji_ptx_version_with(const cj_ptx *m, int target)
{
    uint8_t since = cji_target_since((uint32_t)target), version = m->need_version > since ? m->need_version : since;
    if (is_late(m, version, target)) version = m->late_version;
    /* Below 4.0 ptxas calls a routine for each square root of f64, where it has a quick path inline. */
    if (!m->fixed_version) return version < 40 ? 40 : version;
    return version <= m->fixed_version ? m->fixed_version : UINT8_MAX;
}

/* A device takes a kernel that is compiled from PTX for sm_2x in grids of up to 65535 blocks only, so that the targets
 * from sm_30 on come first. */
static bool is_better_target(uint32_t a, uint32_t b)
{
    const bool wide = cji_target_has_wide_grids(a);
    return wide != cji_target_has_wide_grids(b) ? wide : cji_target_before(a, b);
}

CJI_FIRST int cji_ptx_target_for(const cj_ptx *m, cji_ptx_device dev)
{
    const cji_targets able = cji_ptx_able(m);
    int best = -1;
    if (!dev.runs) {
        uint8_t version;
        best = pick_target(m, &version);
        return best >= 0 && cji_ptx_version_with(m, best) <= dev.most ? best : -1;
    }
    for (cji_targets left = able & dev.runs; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(left);
        if (best >= 0 && !is_better_target(i, (uint32_t)best)) continue;
        const uint8_t version = cji_ptx_version_with(m, (int)i);
        if (version <= dev.most && !is_gone(m, version, (int)i)) best = (int)i;
    }
    return best;
}

CJI_FIRST cj_status cji_ptx_needs(cj_ptx *m, uint8_t *version, int *target)
{
    *version = 0;
    *target = -1;
    if (m->dead) return cj_ptx_status(m);
    *target = pick_target(m, version);
    if (*target < 0 && m->gone_version) return gone_failure(m, m->gone_version, -1);
    if (*target < 0)
        return cji_ptx_fail(m, CJ_ENOTSUP, "cj_ptx_print", m->loc, "no target has everything that the module uses");
    if (is_gone(m, *version, *target)) return gone_failure(m, m->gone_version, *target);
    if (version_short(m, *version, cji_target_name((uint32_t)*target), m->loc)) return CJ_ENOTSUP;
    if (m->fixed_version) *version = m->fixed_version;
    return CJ_OK;
}

int cj_ptx_version(cj_ptx *m)
{
    uint8_t version;
    int target;
    return cji_check(m, CJI_TAG_PTX, __func__) == CJ_OK && cji_ptx_needs(m, &version, &target) == CJ_OK ? version : 0;
}

const char *cj_ptx_target(cj_ptx *m)
{
    uint8_t version;
    int target;
    return cji_check(m, CJI_TAG_PTX, __func__) == CJ_OK && cji_ptx_needs(m, &version, &target) == CJ_OK
               ? cji_target_name((uint32_t)target)
               : "";
}

static char last_letter(const char *name) { return name[strlen(name) - 1]; }

int cj_ptx_allows(cj_ptx *m, const char *target)
{
    if (cji_check(m, CJI_TAG_PTX, __func__) != CJ_OK) return 0;
    const int t = target ? cji_target_find(target, strlen(target)) : -1;
    if (t < 0) return 0;
    if (m->fixed_target < 0 || m->fixed_target == t) return 1;
    const char kind = last_letter(target), own = last_letter(cji_target_name((uint32_t)m->fixed_target));
    if (kind == 'a' || (kind == 'f' && own != 'a' && own != 'f')) return 0;
    return cji_target_runs_on((uint32_t)t, (uint32_t)m->fixed_target);
}

/* ---- Before print and load --------------------------------------------------------------------------------------- */

static bool finish_function(cj_ptx *m, const cj_fn *f, const char *call)
{
    static const char *const kinds[] = { [CJI_BLOCK_IF] = "cj_if",
                                         [CJI_BLOCK_LOOP] = "cj_loop",
                                         [CJI_BLOCK_FOR] = "cj_for",
                                         [CJI_BLOCK_WHILE] = "cj_while" };
    if (f->nblock) {
        const cji_block *b = &f->block[f->nblock - 1];
        cji_ptx_fail(m, CJ_ESTATE, call, b->loc, "%s in %s is still open: cj_end() is missing", kinds[b->kind],
                     cji_short(cji_ptx_name(m, f->name)));
        return false;
    }
    for (size_t i = 0; i < f->nlabel; i++) {
        const cji_label *l = &f->label[i];
        if (!l->used || l->at != UINT32_MAX) continue;
        cji_ptx_fail(m, CJ_EPTX, call, l->loc, "label %s%s in %s is used and never bound: cj_label_bind() is missing",
                     l->name ? "" : "made here", l->name ? cji_short(cji_ptx_name(m, l->name)) : "",
                     cji_short(cji_ptx_name(m, f->name)));
        return false;
    }
    return true;
}

/* Functions whose addresses stand in variables are declared in front of these. */
static void declare_early(cj_ptx *m)
{
    for (size_t i = 0; i < m->nvar; i++)
        for (uint32_t k = 0; k < m->var[i]->nreloc; k++) {
            uint32_t word = m->var[i]->reloc[k].word;
            if (cji_word_kind(word) == CJI_K_FUNC) m->fn[cji_word_index(word)]->early = 1;
        }
}

CJI_FIRST cj_status cji_ptx_finish(cj_ptx *m, const char *call)
{
    uint8_t version;
    int target;
    if (m->dead) return cj_ptx_status(m);
    if (m->frozen) return cji_ptx_needs(m, &version, &target); /* it was finished before it was frozen */
    declare_early(m);
    if (!cji_layout_check(m, call)) return cj_ptx_status(m);
    for (size_t i = 0; i < m->nfn; i++)
        if (!finish_function(m, m->fn[i], call)) return cj_ptx_status(m);
    return cji_ptx_needs(m, &version, &target);
}
