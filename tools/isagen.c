/* isagen DATA.c IDS.h FILE.def... - compiles the instruction table.
 *
 * The rows of src/ptx/isa (docs/inside.md "To add an instruction" has the language) become constant data, which is
 * kept under version control and shipped: only who changes a row runs this.  Every error is told as file:line:
 * message; nothing is written then.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "isagen.h"

gen_target gen_targets[64];
int n_gen_targets;
gen_tset gen_tsets[256];
int n_gen_tsets;
gen_class gen_classes[200];
int n_gen_classes;
gen_set gen_sets[300];
int n_gen_sets;
gen_row *gen_rows[GEN_MAX_ROWS];
int n_gen_rows;
gen_sreg gen_sregs[256];
int n_gen_sregs;
gen_order gen_orders[16];
int n_gen_orders;
cji_isa_range gen_ranges[256];
int n_gen_ranges;
int gen_errors;

void gen_error(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    gen_errors++;
}

/* All memory lives until the program ends. */
void *gen_alloc(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) { fputs("isagen: no memory\n", stderr); exit(2); }
    return p;
}

int main(int argc, char **argv)
{
    if (argc < 4) { fputs("usage: isagen DATA.c IDS.h FILE.def...\n", stderr); return 2; }
    for (int i = 3; i < argc; i++) gen_read(argv[i], gen_entry_sets);
    if (!n_gen_targets || !n_gen_tsets ||
        gen_tsets[0].members != (n_gen_targets == 64 ? ~(uint64_t)0 : ((uint64_t)1 << n_gen_targets) - 1))
        gen_error(argv[3], 1, "the first TSET, before any row, holds every target");
    if (!n_gen_rows) gen_error(argv[3], 1, "no rows");
    uint64_t forms = 0;
    for (int i = 0; i < n_gen_rows; i++) forms += gen_rows[i]->forms;
    if (forms > UINT32_MAX - 1) gen_error(argv[3], 1, "too many forms");
    gen_close_tsets();
    if (!gen_errors) gen_unused();
    if (gen_errors) { fprintf(stderr, "isagen: %d errors, nothing written\n", gen_errors); return 1; }
    if (!gen_emit(argv[1], argv[2])) return 1;
    printf("isagen: %d rows, %llu forms\n", n_gen_rows, (unsigned long long)forms);
    return 0;
}
