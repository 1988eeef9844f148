/* Module loading and linking: PTX text goes through cuModuleLoadDataEx; what is accepted is linked, and the image that
 * the link makes loads as well. */
#include "tests/fuzz/fuzz_driver.h"

const char cji_fuzz_name[] = "load";
const bool cji_fuzz_is_text = true, cji_fuzz_has_threads = false;

void cji_fuzz_begin(void) { fuzz_open(); }
void cji_fuzz_seeds(void) { cji_fuzz_add_files(cji_fuzz_texts, cji_fuzz_ntexts); }

/* Each kernel's attributes and each variable can be asked for. */
static void look_at(CUmodule m)
{
    unsigned n = 0;
    CUfunction f[64];
    if (cu.cuModuleGetFunctionCount(&n, m)) cji_fuzz_fail("a module without a count of functions");
    if (n > 64) n = 64;
    if (cu.cuModuleEnumerateFunctions(f, n, m)) cji_fuzz_fail("a module without functions");
    for (unsigned i = 0; i < n; i++) {
        int value;
        if (cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f[i]) || value < 1 || value > 255)
            cji_fuzz_fail("a kernel with %d registers", value);
    }
}

static void link_and_load(char *text, size_t size)
{
    CUlinkState l;
    CUmodule m;
    void *image;
    size_t bytes;
    if (cu.cuLinkCreate(0, NULL, NULL, &l)) cji_fuzz_fail("no linker");
    CUresult r = cu.cuLinkAddData(l, CU_JIT_INPUT_PTX, text, size + 1, "input", 0, NULL, NULL);
    if (!r) r = cu.cuLinkComplete(l, &image, &bytes);
    if (!r) r = cu.cuModuleLoadData(&m, image);
    /* the linker takes less static shared memory */
    if (r && r != CUDA_ERROR_INVALID_SOURCE) cji_fuzz_fail("a text that loads does not link: %d", r);
    if (!r) look_at(m);
    if (!r) cu.cuModuleUnload(m);
    cu.cuLinkDestroy(l);
}

int cji_fuzz_one(const uint8_t *data, size_t size)
{
    char log[4096], *text = cji_fuzz_string(data, size);
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *value[] = { log, (void *)sizeof log };
    CUmodule m;
    size = strlen(text);
    fuzz_context();
    CUresult r = cu.cuModuleLoadDataEx(&m, text, 2, option, value);
    if (r && !log[0]) cji_fuzz_fail("a text is rejected with %d and without a sentence", r);
    if (!r) {
        look_at(m);
        link_and_load(text, size);
        if (cu.cuModuleUnload(m)) cji_fuzz_fail("a module is not unloaded");
    }
    free(text);
    return !r;
}
