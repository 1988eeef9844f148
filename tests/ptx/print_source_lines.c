/* Source lines: each call's own C line, a language's lines set by hand, numbers too large for the record, all printed
 * as .loc when asked for. */
#include "ask_ptxas.h"

#include <cujit/ptx.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    const char *text;
    char want[80], path[400];
    tap_plan(0);
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    int line = __LINE__ + 1;
    cj_block_sync(f);
    cj_line(f, "dir\\user \"x\".lang", 12);
    cj_block_sync(f);
    cj_block_sync(f);
    cj_line(f, "dir\\user \"x\".lang", 5000000);
    cj_block_sync(f);
    cj_line(f, NULL, 0);
    for (int i = 0; i < 600; i++) {
        char name[20];
        snprintf(name, sizeof name, "file%d.lang", i);
        cj_line(f, name, i + 1);
        cj_block_sync(f);
    }
    cj_line(f, NULL, 0);
    int last = __LINE__ + 1;
    cj_block_sync(f);

    tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "it prints");
    tap_ok(!strstr(text, ".loc") && !strstr(text, ".file"), "without lines unless asked for");
    tap_is_int(cj_ptx_print(m, CJ_PRINT_LINES, &text, NULL), CJ_OK, "with lines");
    snprintf(path, sizeof path, ".file\t1 \"%.380s\"\n", __FILE__);
    tap_has_str(text, path, "this file is the first");
    tap_has_str(text, ".file\t2 \"dir\\user 'x'.lang\"\n", "a quote, which PTX cannot escape, becomes an apostrophe");
    snprintf(want, sizeof want, "\t.loc\t1 %d 0\n\tbar.sync 0;\n\t.loc\t2 12 0\n\tbar.sync 0;\n\tbar.sync 0;\n", line);
    tap_has_str(text, want, "a line is said once");
    tap_has_str(text, "\t.loc\t2 5000000 0\n\tbar.sync 0;\n", "a line beyond 22 bits");
    tap_has_str(text, "\t.loc\t602 600 0\n\tbar.sync 0;\n", "a file beyond 9 bits");
    snprintf(want, sizeof want, "\t.loc\t1 %d 0\n\tbar.sync 0;\n\tret;\n", last);
    tap_has_str(text, want, "then the C lines again");
    ptxas_takes(text, "source lines");

    line = __LINE__ + 1;
    cj_ins(f, "fma.f32", cj_reg(f, CJ_F32));
    snprintf(want, sizeof want, ":%d: no instruction", line);
    tap_has_str(cj_error_of(m)->message, want, "a failure names the line of its call");
    tap_is_int(cj_error_of(m)->line, line, "in the record too");
    cj_ptx_free(m);
    return tap_done();
}
