/* For the tests of the execution engine: one piece of device memory, programs from text, launches
 * with 64-bit parameters. */
#ifndef CUJIT_TESTS_EXEC_HARNESS_H
#define CUJIT_TESTS_EXEC_HARNESS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/exec/exec.h"

#include "../tap.h"

#define EX_BASE UINT64_C(0x700000000000)
#define EX_BYTES (256u * 1024u)
#define EX_IMAGE (EX_BYTES - 65536u)   /* module variables */

static _Alignas(256) unsigned char ex_memory[EX_BYTES];
static char ex_printed[8192];
static size_t ex_nprinted;
static uint64_t ex_freed_lo, ex_freed_hi;   /* addresses that "were freed" */

static bool ex_find(void *user, uint64_t a, cji_exec_span *span, char *why, size_t size)
{
    (void)user;
    if (a >= ex_freed_lo && a < ex_freed_hi) {
        *span = (cji_exec_span){ .lo = ex_freed_lo, .hi = ex_freed_hi, .freed = true };
        snprintf(why, size, "was freed");
        return false;
    }
    if (a < EX_BASE || a >= EX_BASE + EX_BYTES) return snprintf(why, size, "is no device memory"), false;
    *span = (cji_exec_span){ .lo = EX_BASE, .hi = EX_BASE + EX_BYTES, .host = ex_memory };
    if (ex_freed_hi && a < ex_freed_lo) span->hi = ex_freed_lo;
    if (ex_freed_hi && a >= ex_freed_hi) span->lo = ex_freed_hi, span->host = ex_memory + (ex_freed_hi - EX_BASE);
    return true;
}

static void ex_print(void *user, const char *text, size_t n)
{
    (void)user;
    if (ex_nprinted + n >= sizeof ex_printed) return;
    memcpy(ex_printed + ex_nprinted, text, n);
    ex_nprinted += n;
    ex_printed[ex_nprinted] = 0;
}

/* NULL on failure, with the log in *log (static). */
static cji_exec_program *ex_try(const char *text, const char **log)
{
    static char kept[2048];
    cji_text out = { 0 };
    cji_exec_text t = { .name = "test.ptx", .text = text, .bytes = strlen(text) };
    cji_exec_program *p = cji_exec_program_make(&t, 1, &out);
    snprintf(kept, sizeof kept, "%s", cji_text_str(&out));
    if (log) *log = kept;
    cji_text_free(&out);
    memset(ex_memory + EX_IMAGE, 0, EX_BYTES - EX_IMAGE);
    if (p) cji_exec_program_place(p, EX_BASE + EX_IMAGE, ex_memory + EX_IMAGE);
    return p;
}

__attribute__((unused)) static cji_exec_program *ex_load(const char *text)
{
    const char *log;
    cji_exec_program *p = ex_try(text, &log);
    if (!p) tap_bail("the program was rejected: %s", log);
    return p;
}

__attribute__((unused)) static bool ex_run(cji_exec_program *p, const char *name, unsigned grid, unsigned block,
                                           unsigned shared, const uint64_t *params, cji_exec_fault *fault)
{
    const cji_exec_kernel *k = cji_exec_program_kernel(p, name);
    if (!k) tap_bail("no kernel %s", name);
    cji_exec_launch l = { .program = p,
                         .kernel = k,
                         .grid = { grid, 1, 1 },
                         .block = { block, 1, 1 },
                         .dynamic_shared = shared,
                         .params = params,
                         .memory = { .find = ex_find, .print = ex_print } };
    return cji_exec_run(&l, fault);
}

#define EX_HEAD ".version 8.6\n.target sm_90\n.address_size 64\n"

#endif
