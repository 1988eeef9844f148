/* The kernels that matrices runs on a GPU: they print, and ptxas makes code of them without a word. */
#include "tests/blocks/matrix_modules.h"
#include "tests/ptx/ask_ptxas.h"
#include "tests/tap.h"

static void check(cj_ptx *m, const char *target, const char *name)
{
    const char *text = "";
    tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "%s: %s", name, cj_error_of(m)->message);
    tap_is_str(cj_ptx_target(m), target, "%s: the least target", name);
    ptxas_assembles(text, true, name);
    cj_ptx_free(m);
}

int main(void)
{
    tap_plan(0);
    for (int i = 0; i < MMA_CASES; i++)
        check(mma_module(&mma_cases[i]), mma_cases[i].shape.a == CJ_MMA_E4M3 ? "sm_89" : "sm_80", mma_cases[i].name);
    for (int i = 0; i < WGMMA_CASES; i++) check(wgmma_module(&wgmma_cases[i]), "sm_90a", wgmma_cases[i].name);
    check(bulk_module(), "sm_90a", "a ring of bulk copies");
    return tap_done();
}
