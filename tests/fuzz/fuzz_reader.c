/* Reader and printer: what is read is printed, read again and printed as the same text, with source lines and without;
 * a clone prints the same; what is rejected has a sentence that names the line; the heads alone are the same. */
#include "tests/ptx/reader_rules.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

const char cji_fuzz_name[] = "reader";
const bool cji_fuzz_is_text = true, cji_fuzz_has_threads = true;

void cji_fuzz_begin(void) {}
void cji_fuzz_seeds(void) { cji_fuzz_add_files(cji_fuzz_texts, cji_fuzz_ntexts); }

static void same_text(cj_ptx *a, cj_ptx *b, unsigned flags, const char *what)
{
    const char *x = NULL, *y = NULL;
    size_t n = 0, k = 0;
    if (cj_ptx_print(a, flags, &x, &n)) cji_fuzz_fail("what was read is not printed: %s", cj_error_of(a)->message);
    if (cj_ptx_print(b, flags, &y, &k)) cji_fuzz_fail("%s is not printed: %s", what, cj_error_of(b)->message);
    if (n != k || memcmp(x, y, n)) {
        size_t i = 0;
        while (i < n && i < k && x[i] == y[i]) i++;
        cji_fuzz_fail("%s prints differently: \"%.60s\" and \"%.60s\"", what, x + (i > 30 ? i - 30 : 0),
                      y + (i > 30 ? i - 30 : 0));
    }
}

/* What is printed is read and printed as the same text.  A text without .loc has its own lines for its instructions,
 * which change. */
static void round_trip(cj_ptx *m, unsigned flags)
{
    const char *text = NULL;
    size_t n = 0;
    if (cj_ptx_print(m, flags, &text, &n)) cji_fuzz_fail("what was read is not printed: %s", cj_error_of(m)->message);
    if (flags && !memmem(text, n, "\t.loc\t", 6)) return;
    cj_ptx *again = cj_parse(text, n, "printed");
    same_text(m, again, flags, flags ? "what was printed with lines and read" : "what was printed and read again");
    cj_ptx_free(again);
}

int cji_fuzz_one(const uint8_t *data, size_t size)
{
    cj_ptx *m = cj_parse((const char *)data, size, "input");
    int accepted = cj_error_of(m)->status == CJ_OK;
    const char *fault = reader_fault(m, (const char *)data, size, "input");
    if (fault) cji_fuzz_fail("%s", fault);
    if (accepted) {
        round_trip(m, 0);
        round_trip(m, CJ_PRINT_LINES);
        cj_ptx *copy = cj_ptx_clone(m);
        same_text(m, copy, 0, "a clone");
        cj_ptx_free(copy);
    }
    cj_ptx_free(m);
    return accepted;
}
