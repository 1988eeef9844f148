/* Memory runs out at each allocation of a parse in turn: CJ_ENOMEM or, where it came too late to matter, success;
 * nothing is leaked, whatever is read. */
#include <cujit/parse.h>

#include "base/mem.h"
#include "ptx/entries.h"

#include "../tap.h"

#include <stdlib.h>
#include <string.h>

static size_t nomem_live, nomem_count, nomem_fail_at;

static void *nomem_realloc(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    if (size && ++nomem_count == nomem_fail_at) return NULL;
    nomem_live += size - (p ? old : 0);
    if (size) return realloc(p, size);
    free(p);
    return NULL;
}

static const char *const nomem_samples[] = { "saxpy", "calls", "constant", "lines", "syntax" };

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof nomem_samples / sizeof *nomem_samples; i++) {
        char path[64] = "tests/ptx/samples/";
        size_t bytes = 0, failures = 0, late = 0, others = 0, silent = 0, leaks = 0, n = 1;
        strcat(strcat(path, nomem_samples[i]), ".ptx");
        char *text = tap_slurp(tap_source(path), &bytes);
        if (!text) tap_bail("%s is missing", path);
        cji_set_hook(nomem_realloc, NULL);
        for (size_t step = tap_is_slow() ? 17 : 1;; n += step) {
            nomem_live = nomem_count = 0;
            nomem_fail_at = n;
            cj_ptx *m = cj_parse(text, bytes, "k.ptx");
            bool reached = nomem_count >= n;
            cj_status status = cj_ptx_status(m);
            failures += status == CJ_ENOMEM;
            late += reached && status == CJ_OK;
            others += status != CJ_ENOMEM && status != CJ_OK;
            silent += reached && status == CJ_ENOMEM && !cj_error_of(m)->message[0];
            cj_ptx_free(m);
            leaks += nomem_live != 0;
            if (!reached) break;
        }
        size_t unread = 0, read = 0;
        for (size_t step = tap_is_slow() ? 17 : 1, at = 1;; at += step) {
            nomem_live = nomem_count = 0;
            nomem_fail_at = at;
            cji_entries *e = cji_entries_read(text, bytes);
            bool reached = nomem_count >= at;
            unread += !e;
            read += e && reached;
            cji_entries_release(e);
            leaks += nomem_live != 0;
            if (!reached) break;
        }
        cji_set_hook(NULL, NULL);
        tap_ok(unread > 0 && !read, "%s: no list of kernels at each of %zu failed allocations", nomem_samples[i],
               unread);
        tap_ok(failures > 0 && !others && !late, "%s: each of %zu failed allocations is CJ_ENOMEM", nomem_samples[i],
               failures);
        tap_is_uint(silent, 0, "%s: and has a message", nomem_samples[i]);
        tap_is_uint(leaks, 0, "%s: and leaks nothing", nomem_samples[i]);
        free(text);
    }

    /* What fails for another reason leaks nothing either. */
    static const char *const wrong[] = {
        "",
        "x",
        ".version 8.0\n.target sm_90\n.global .b32 a[3] = {1, 2, {",
        ".version 8.0\n.target sm_90\n.entry k(.param .b32 a) { { bra L; } .reg .b32 r<9>; add.s32 r1, r2,",
        ".version 8.0\n.target sm_90\n.func (.param .b32 a) f (.param .b32 b, .param .b32 c) .maxntid 3, x",
    };
    cji_set_hook(nomem_realloc, NULL);
    nomem_fail_at = nomem_live = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cj_ptx *m = cj_parse(wrong[i], strlen(wrong[i]), NULL);
        bool failed = cj_ptx_status(m) != CJ_OK;
        cj_ptx_free(m);
        tap_ok(failed && !nomem_live, "wrong text %zu leaks nothing", i);
    }
    return tap_done();
}
