#include "isa_judge.h"
#include "isa_write.h"

#include <stdio.h>
#include <string.h>

/* A register's own needs: there is no .f16x2 before PTX 4.2, no .b128 before 8.3. */
static bool registers_fit(const char *line, uint8_t version, uint32_t target)
{
    static const struct {
        const char *name, *least;
        uint8_t version;
    } types[] = { { "%f16x2_", "sm_53", 42 }, { "%b128_", "sm_70", 83 } };
    for (size_t i = 0; i < 2; i++)
        if (strstr(line, types[i].name) &&
            (version < types[i].version ||
             !(cji_target_runs((uint32_t)cji_target_find(types[i].least, 5)) >> target & 1)))
            return false;
    return true;
}

bool isa_judge(const char *line, uint8_t version, uint32_t target, const char **why)
{
    static isa_line l;
    static cji_isa_form f;
    static char text[400];
    *why = text;
    text[0] = 0;
    if (!isa_read(line, &l)) { *why = "cannot be read"; return false; }
    uint32_t first = cji_isa_find(l.spelling, l.len);
    if (first == CJI_FORM_NONE) { cji_isa_explain(l.spelling, l.len, text, sizeof text); return false; }
    if (cji_isa_match(first, l.arg, l.n, &f, text, sizeof text) == CJI_FORM_NONE) return false;
    uint8_t needs = 0;
    cji_targets targets = ~(cji_targets)0;
    cji_isa_needs(&f, l.arg, l.n, &needs, &targets);
    for (size_t i = 0; i < l.n; i++)
        if (l.arg[i].kind == CJI_K_SREG) { /* its name is in the text: a special register has needs too */
            const char *s = strchr(line, '%');
            while (s && cji_isa_sreg_find(s, strcspn(s, " ,;|}]")) < 0) s = strchr(s + 1, '%');
            const cji_isa_sreg *r = s ? cji_isa_sreg_at((uint32_t)cji_isa_sreg_find(s, strcspn(s, " ,;|}]"))) : NULL;
            if (r && needs < r->version) needs = r->version;
            if (r) targets &= cji_target_set(r->targets);
        }
    if (version < needs) { snprintf(text, sizeof text, "needs PTX %u.%u", needs / 10u, needs % 10u); return false; }
    if (!(targets >> target & 1)) { cji_target_list(targets, text, sizeof text); return false; }
    if (version < f.late_version && cji_target_set(f.late_targets) >> target & 1) {
        *why = "came later to this target";
        return false;
    }
    if (f.end_version && version >= f.end_version && cji_target_set(f.end_targets) >> target & 1) {
        *why = "has ended";
        return false;
    }
    *why = "a register type is too new";
    return registers_fit(line, version, target);
}
