/* Asks ptxas about statements made from the instruction table and writes its verdicts: make record-verdicts >
 * tests/oracle/isa.txt.
 *
 * Of each row a few forms: as they should be, at the least version and target; one version and one target lower; with
 * wrong operands; with two neighbouring modifiers exchanged.  Lines: "@ 9.0 sm_90" for those that follow, "+ statement"
 * taken, "- statement" refused; "!" behind the sign marks where the table differs and is known to (isa_ptxas.c has the
 * reasons).
 */
#include "isa_ask.h"
#include "isa_judge.h"
#include "isa_write.h"
#include "../tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct group { uint8_t version, target; isa_batch batch; } group;
static group groups[4096];
static size_t ngroups;

/* Of what is there by the thousand a fifth, the same one each time. */
static bool chosen(const char *line)
{
    uint32_t h = 2166136261u;
    for (; *line; line++) h = (h ^ (unsigned char)*line) * 16777619u;
    return (h >> 8) % 5 == 0;
}

static void add(uint8_t version, int target, const char *line, bool always)
{
    if (strlen(line) > 170 || !(always || chosen(line))) return;
    if (version < 23) version = 23;
    if (cji_target_since((uint32_t)target) > version) version = cji_target_since((uint32_t)target);
    size_t i = 0;
    while (i < ngroups && (groups[i].version != version || groups[i].target != target)) i++;
    if (i == ngroups) groups[ngroups++] = (group){ .version = version, .target = (uint8_t)target };
    isa_batch_add(&groups[i].batch, line);
}

static int below(int target)
{
    int number = atoi(cji_target_name((uint32_t)target) + 3), best = -1;
    for (uint32_t t = 0; t < cji_target_count(); t++)
        if (atoi(cji_target_name(t) + 3) < number && !strpbrk(cji_target_name(t) + 3, "af")) best = (int)t;
    return best;
}

static void swapped(const cji_isa_form *f, const char *line, uint8_t version, int target)
{
    char out[ISA_LINE];
    for (unsigned k = 1; k < f->nwords; k++)
        if (isa_write_swapped(f, line, k, out)) add(version, target, out, false);
}

static void record(const cji_isa_form *f, bool every)
{
    char line[ISA_LINE];
    uint8_t version;
    cji_targets targets;
    const char *what;
    for (size_t i = 0; i < (f->nopnd ? f->nopnd : 1u); i++)
        for (unsigned way = 0; way < (every ? 40u : 1u) && isa_write(f, i, way, line, &version, &targets);
             way += i || way ? 5 : 1) {
            int least = cji_target_least(targets, &version);
            if (least >= 0 && version < f->late_version && cji_target_set(f->late_targets) >> least & 1)
                version = f->late_version;
            add(version, least, line, every && !i && !way);
            if (i || way) continue;
            if (version > 23 && version > cji_target_since((uint32_t)least))
                add(version % 10 ? version - 1 : version == 70 ? 65 : version == 60 ? 50 : 78, least, line, false);
            if (below(least) >= 0) add(version, below(least), line, false);
            if (every) swapped(f, line, version, least);
        }
    isa_odd odd;
    uint8_t top = 90;
    int target = cji_target_least(cji_target_set(f->targets), &top);
    for (size_t i = 0; every && i < f->nopnd; i++)
        for (unsigned way = 0; isa_write_odd(f, i, way, line, &odd); way += odd == ISA_ODD_UNLIKE ? 7 : 1)
            add(90, target, line, false);
    for (size_t i = 0; every && i <= f->nopnd; i++)
        for (unsigned way = 0; isa_write_wrong(f, i, way, line, &what); way += 1 + f->row % 3)
            if (what) add(90, target, line, false);
}

int main(void)
{
    tap_timeout(3600);
    const char *ptxas = tap_ptxas();
    if (!ptxas) { fputs("isa_record: no ptxas\n", stderr); return 1; }
    cji_isa_form f;
    uint32_t row = UINT32_MAX, nth = 0;
    for (uint32_t i = 0; cji_isa_get(i, &f); i++) {
        nth = f.row == row ? nth + 1 : 0;
        row = f.row;
        if (nth == 0 || nth == 37 || nth == 611) record(&f, nth == 0);
    }
    puts(
        "# Verdicts of ptxas 13.0 about single statements; made by make record-verdicts (tests/ptx/isa_record.c), replayed by tests/ptx/isa_oracle.c.\n"
        "# @ version target; + taken, - refused; ! the table differs, for the reasons in tests/ptx/isa_ptxas.c.");
    for (size_t g = 0; g < ngroups; g++) {
        isa_batch *b = &groups[g].batch;
        char **message = calloc(b->n, sizeof *message);
        if (!isa_ask(ptxas, groups[g].version, cji_target_name(groups[g].target), b, message)) return 1;
        printf("@ %u.%u %s\n", groups[g].version / 10u, groups[g].version % 10u, cji_target_name(groups[g].target));
        for (size_t i = 0; i < b->n; i++) {
            const char *why, *line = isa_batch_line(b, i);
            bool taken = isa_judge(line, groups[g].version, groups[g].target, &why);
            printf("%c%s %s\n", message[i] ? '-' : '+', taken == !message[i] ? "" : "!", line);
            free(message[i]);
        }
        free(message);
        isa_batch_free(b);
    }
    return 0;
}
