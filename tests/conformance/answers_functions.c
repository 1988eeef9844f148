/* Modules, functions, launches (see answers.h): what they say of themselves, which launches are rejected, what a bad
 * image answers. */
#include "answers.h"

enum { FUNCTIONS = 4, STEP = 0, NOTHING, MIXED, ROOMY };

static an_tools tools;
static CUmodule module;
static CUfunction function[FUNCTIONS];
static const char *const function_names[FUNCTIONS] = { "step", "nothing", "mixed", "roomy" };

static unsigned some_function(void) { return an_below(FUNCTIONS); }

/* ---- What they say ----------------------------------------------------------------------------------------------- */

static void op_attribute(void)
{
    static const int ids[] = { 0, 0, 1, 2, 3, 5, 8, 8, 9, 10, 11, 12, 13, 14, 15, -1, 16, 99 };
    unsigned i = some_function();
    int id = AN_PICK(ids), v = -99;
    if (AN(cuFuncGetAttribute(&v, (CUfunction_attribute)id, function[i]), "attribute %d of %s", id, function_names[i]))
        return;
    an_more(" %d", v);
}

static void op_set_attribute(void)
{
    static const int ids[] = { 0, 1, 4, 8, 8, 8, 9, 9, 11, 12, 13, 14, 15, 99 };
    static const int sizes[] = { -1,     0,      1024,   49152,  49153,  65536,  100000,
                                 231423, 231424, 232448, 232449, 233472, 1 << 20 };
    /* the others change the occupancy */
    static const int small[] = { -2, -1, 0, 1, 2, 3, 8, 50, 100, 101 }, carveouts[] = { -2, -1, -1, 101 };
    unsigned i = some_function();
    int id = AN_PICK(ids), v = id == 8 ? AN_PICK(sizes) : id == 9 ? AN_PICK(carveouts) : AN_PICK(small), back = -99;
    if (AN(cuFuncSetAttribute(function[i], (CUfunction_attribute)id, v), "attribute %d of %s becomes %d", id,
           function_names[i], v))
        return;
    if (!AN(cuFuncGetAttribute(&back, (CUfunction_attribute)id, function[i]), "it is")) an_more(" %d", back);
}

static void op_facts(void)
{
    unsigned i = some_function(), n = 99;
    size_t offset = 99, size = 99, index = an_below(7);
    const char *name = NULL;
    CUmodule m = NULL;
    CUfunction list[16] = { NULL };
    CUfunctionLoadingState state = (CUfunctionLoadingState)9;
    switch (an_below(9)) {
    case 0: case 1: case 2:
        if (!cu.cuFuncGetParamInfo || AN(cuFuncGetParamInfo(function[i], index, &offset, an_chance(80) ? &size : NULL),
                                         "parameter %zu of %s", index, function_names[i]))
            break;
        an_more(" %zu %zu", offset, size);
        break;
    case 3:
        if (cu.cuFuncGetName && !AN(cuFuncGetName(&name, function[i]), "name of %s", function_names[i]))
            an_more(" %s", name);
        break;
    case 4:
        if (!AN(cuFuncGetModule(&m, function[i]), "module of %s", function_names[i]))
            an_more(m == module ? " that" : " another");
        break;
    case 5:
        if (cu.cuModuleGetFunctionCount && !AN(cuModuleGetFunctionCount(&n, module), "functions")) an_more(" %u", n);
        break;
    case 6: {
        unsigned found = 0, want = an_below(8);
        if (!cu.cuModuleEnumerateFunctions || AN(cuModuleEnumerateFunctions(list, want, module), "%u functions", want))
            break;
        for (unsigned k = 0; k < 16; k++) found += list[k] != NULL;
        an_more(" %u", found);
        break;
    }
    case 7:
        if (cu.cuFuncIsLoaded && !AN(cuFuncIsLoaded(&state, function[i]), "%s is loaded?", function_names[i]))
            an_more(" %d", (int)state);
        break;
    default: AN(cuFuncSetCacheConfig(function[i], (CUfunc_cache)an_below(5)), "cache of %s", function_names[i]);
    }
}

static void op_find(void)
{
    static const char *const names[] = { "step", "counter", "fixed", "room", "absent", "", "mixed" };
    const char *name = AN_PICK(names);
    CUfunction f = NULL;
    CUdeviceptr p = 0;
    size_t bytes = 99;
    unsigned which = an_below(8), v = 0;
    if (which < 3) {
        if (!AN(cuModuleGetFunction(&f, module, name), "function \"%s\"", name)) an_more(f ? " some" : " none");
    } else if (which < 6) {
        if (AN(cuModuleGetGlobal(&p, &bytes, module, name), "variable \"%s\"", name)) return;
        an_more(" %zu", bytes);
        if (!strcmp(name, "counter")) {
            AN(cuMemcpyDtoH(&v, p, 4), "it is");
            an_more(" %u", v);
            v += 3;
            AN(cuMemcpyHtoD(p, &v, 4), "it becomes %u", v);
        }
    } else if (which == 6) {
        AN(cuModuleGetGlobal(NULL, &bytes, module, "fixed"), "size of a variable");
        an_more(" %zu", bytes);
        AN(cuModuleGetGlobal(&p, NULL, module, "fixed"), "address of a variable");
        AN(cuModuleGetGlobal(NULL, NULL, module, "fixed"), "nothing of a variable");
    } else {
        AN(cuModuleGetFunction(NULL, module, "step"), "function into nothing");
        AN(cuModuleGetFunction(&f, module, NULL), "function without a name");
        AN(cuModuleGetFunction(&f, NULL, "step"), "function of no module");
    }
}

static void op_occupancy(void)
{
    static const int blocks[] = { 1, 32, 33, 64, 96, 128, 256, 257, 512, 768, 1024, 1025, 0, -1 };
    static const size_t shared[] = { 0, 0, 1000, 10000, 40000, 49152, 49153, 100000, 232448, 232449 };
    unsigned i = some_function();
    int block = AN_PICK(blocks), n = -99, grid = -99;
    size_t bytes = AN_PICK(shared), room = 99;
    switch (an_below(5)) {
    case 0: case 1:
        if (!AN(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, function[i], block, bytes),
                "blocks of %s, %d threads, %zu bytes", function_names[i], block, bytes))
            an_more(" %d", n);
        break;
    case 2:
        if (!AN(cuOccupancyMaxPotentialBlockSize(&grid, &n, function[i], NULL, bytes, block < 0 ? 0 : block),
                "best block of %s, %zu bytes, up to %d", function_names[i], bytes, block))
            an_more(" %d %d", n, grid);
        break;
    case 3:
        if (!AN(cuOccupancyAvailableDynamicSMemPerBlock(&room, function[i], 1 + (int)bytes % 5, block),
                "memory of %s, %d blocks of %d", function_names[i], 1 + (int)bytes % 5, block))
            an_more(" %zu", room);
        break;
    default: {
        unsigned flags = an_below(3);
        if (!AN(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, function[i], block, bytes, flags),
                "blocks of %s, %d threads, %zu bytes, flags %u", function_names[i], block, bytes, flags))
            an_more(" %d", n);
    }
    }
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

static struct { CUdeviceptr to, from; unsigned n; } step_args;
static unsigned char zeros[64];

static void params_of(unsigned i, void **params)
{
    step_args.to = an_word(&tools, 1 + an_below(40));
    step_args.from = an_word(&tools, AN_WORDS - 1);
    step_args.n = 1 + an_below(1000);
    for (int k = 0; k < 5; k++) params[k] = zeros;
    if (i == STEP) params[0] = &step_args.to, params[1] = &step_args.from, params[2] = &step_args.n;
}

static void some_dimensions(unsigned *grid, unsigned *block)
{
    static const unsigned wrong_grid[3][3] = { { 0, 0x80000000, 0xffffffff },
                                               { 0, 65536, 0x80000000 },
                                               { 0, 65536, 0xffffffff } };
    static const unsigned wrong_block[3][3] = { { 0, 1025, 2048 }, { 0, 1025, 0xffffffff }, { 0, 65, 1024 } };
    for (int d = 0; d < 3; d++) grid[d] = block[d] = 1;
    grid[an_below(3)] = 1 + an_below(4);
    switch (an_below(10)) {
    case 0:
        grid[0] = grid[1] = 1, grid[2] = 1;
        {
            unsigned d = an_below(3);
            grid[d] = wrong_grid[d][an_below(3)];
        }
        break;
    case 1: { unsigned d = an_below(3); block[d] = wrong_block[d][an_below(3)]; } break;
    case 2: block[0] = 32, block[1] = 32, block[2] = 1 + an_below(2); break;
    case 3: block[0] = 16, block[2] = 63 + an_below(3); break;
    case 4: block[0] = 255 + an_below(3); break;
    default: block[0] = 1u << an_below(11);
    }
}

static unsigned some_shared(void)
{
    static const unsigned sizes[] = { 1024,   4096,   48128,  48129,  49152,   49153,     65536,
                                      200000, 231424, 232448, 232449, 1 << 20, 0xffffffff };
    return an_chance(60) ? 0 : AN_PICK(sizes);
}

static void op_launch(void)
{
    unsigned i = some_function(), grid[3], block[3], bytes = some_shared();
    void *params[5];
    params_of(i, params);
    some_dimensions(grid, block);
    if (i == ROOMY && bytes < 4) bytes = 1024;
    AN(cuLaunchKernel(function[i], grid[0], grid[1], grid[2], block[0], block[1], block[2], bytes, NULL, params, NULL),
       "%s<%u.%u.%u,%u.%u.%u,%u>", function_names[i], grid[0], grid[1], grid[2], block[0], block[1], block[2], bytes);
    if (cu.cuCtxSynchronize()) an_more(" broken");
}

static void op_launch_ex(void)
{
    static const int ids[] = { 0, 2, 2, 4, 4, 4, 5, 6, 8, 9, 10, 14, 16, 17, 99 };
    unsigned i = some_function(), grid[3], block[3];
    void *params[5];
    CUlaunchAttribute a[2];
    CUlaunchConfig c;
    int id = AN_PICK(ids);
    params_of(i, params);
    some_dimensions(grid, block);
    memset(a, 0, sizeof a);
    memset(&c, 0, sizeof c);
    c.gridDimX = grid[0], c.gridDimY = grid[1], c.gridDimZ = grid[2];
    c.blockDimX = block[0], c.blockDimY = block[1], c.blockDimZ = block[2];
    c.sharedMemBytes = i == ROOMY ? 64 : 0;
    c.attrs = a;
    c.numAttrs = 1;
    a[0].id = (CUlaunchAttributeID)id;
    int v = (int)an_below(5) - 1;
    if (id == 4)
        a[0].value.clusterDim.x = (unsigned)AN_PICK(((const int[]){ 0, 1, 1, 2, 2, 3, 4, 8, 9, 16 })),
        a[0].value.clusterDim.y = 1 + an_chance(15), a[0].value.clusterDim.z = 1;
    else if (id == 9)
        a[0].value.memSyncDomainMap =
            (CUlaunchMemSyncDomainMap){ (unsigned char)an_below(6), (unsigned char)an_below(6) };
    else a[0].value.priority = v;
    an_line("%s<%u.%u.%u,%u.%u.%u> with %d: %d", function_names[i], grid[0], grid[1], grid[2], block[0], block[1],
            block[2], id,
            id == 4   ? (int)(a[0].value.clusterDim.x * 10 + a[0].value.clusterDim.y)
            : id == 9 ? a[0].value.memSyncDomainMap.default_ * 10 + a[0].value.memSyncDomainMap.remote
                      : v);
    an_status((int)cu.cuLaunchKernelEx(&c, function[i], params, NULL));
    if (cu.cuCtxSynchronize()) an_more(" broken");
}

static void op_launch_extra(void)
{
    struct { CUdeviceptr to, from; unsigned n; } it;
    size_t bytes = an_chance(60) ? 20 : AN_PICK(((const size_t[]){ 24, 0, 32 }));
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &it, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
    void *params[5];
    bool both = an_chance(10);
    params_of(STEP, params);
    memset(&it, 0, sizeof it);
    it.to = step_args.to;
    it.from = step_args.from;
    it.n = step_args.n;
    AN(cuLaunchKernel(function[STEP], 1, 1, 1, 1, 1, 1, 0, NULL, both ? params : NULL, extra),
       "step with a buffer of %zu%s", bytes, both ? " and parameters" : "");
    if (cu.cuCtxSynchronize()) an_more(" broken");
}

static void op_cooperative(void)
{
    unsigned grid = AN_PICK(((const unsigned[]){ 1, 2, 100, 100000, 1000000 })),
             block = AN_PICK(((const unsigned[]){ 1, 64, 1024, 1025 }));
    void *params[5];
    params_of(NOTHING, params);
    AN(cuLaunchCooperativeKernel(function[NOTHING], grid, 1, 1, block, 1, 1, 0, NULL, params),
       "together, %u blocks of %u", grid, block);
    if (cu.cuCtxSynchronize()) an_more(" broken");
}

static void op_wrong_launch(void)
{
    const an_stranger *x = an_other_context();
    void *params[5];
    params_of(STEP, params);
    switch (an_below(5)) {
    case 0: AN(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "no function is launched"); break;
    case 1:
        AN(cuLaunchKernel(function[STEP], 1, 1, 1, 1, 1, 1, 0, x->s, params, NULL),
           "launched in a stream of another context");
        break;
    case 2:
        AN(cuLaunchKernel(x->f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "another context's function is launched");
        break;
    case 3: AN(cuLaunchKernelEx(NULL, function[STEP], params, NULL), "launched with nothing"); break;
    default: {
        int v = 0;
        AN(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, function[STEP]), "an attribute into nothing");
        AN(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL), "an attribute of nothing");
    }
    }
    if (cu.cuCtxSynchronize()) an_more(" broken");
}

/* ---- Images ------------------------------------------------------------------------------------------------------ */

#define ENTRY ".visible .entry k()\n{\n  ret;\n}\n"

static const struct { const char *name, *text;
} images[] = {
    { "good", ABI_HEAD ENTRY },
    { "empty", "" },
    { "words", "this is no image" },
    { "no head", ENTRY },
    { "head alone", ABI_HEAD },
    { "newer version", ".version 99.0\n.target sm_70\n.address_size 64\n" ENTRY },
    { "newer target", ".version 7.0\n.target sm_999\n.address_size 64\n" ENTRY },
    { "target above the device's", ".version 8.8\n.target sm_120\n.address_size 64\n" ENTRY },
    { "unknown instruction", ABI_HEAD ".visible .entry k()\n{\n  frobnicate;\n  ret;\n}\n" },
    { "undeclared register", ABI_HEAD ".visible .entry k()\n{\n  mov.u32 %a, 1;\n  ret;\n}\n" },
    { "wrong types", ABI_HEAD ".visible .entry k()\n{\n  .reg .f32 %a;\n  add.u32 %a, %a, 1;\n  ret;\n}\n" },
    { "no end", ABI_HEAD ".visible .entry k()\n{\n  ret;\n" },
    { "the same name twice", ABI_HEAD ENTRY ENTRY },
    { "a function that is not there",
      ABI_HEAD ".extern .func f();\n.visible .entry k()\n{\n  call f, ();\n  ret;\n}\n" },
    { "a label that is not there", ABI_HEAD ".visible .entry k()\n{\n  bra nowhere;\n}\n" },
};

static void op_load(void)
{
    unsigned i = an_below(sizeof images / sizeof *images);
    CUmodule m = NULL;
    if (an_chance(10)) {
        AN(cuModuleLoadData(an_chance(50) ? &m : NULL, m ? images[0].text : NULL), "no image");
        return;
    }
    if (an_chance(50)) {
        if (AN(cuModuleLoadData(&m, images[i].text), "image, %s", images[i].name)) return;
    } else {
        char log[2000] = "";
        CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
        void *values[] = { log, (void *)(uintptr_t)sizeof log };
        int st = AN(cuModuleLoadDataEx(&m, images[i].text, 2, options, values), "image with a log, %s", images[i].name);
        an_more(log[0] ? " said" : " silent");
        if (st) return;
    }
    AN(cuModuleUnload(m), "unloaded");
}

static void op_link(void)
{
    CUlinkState state = NULL;
    void *cubin = NULL;
    size_t bytes = 0;
    CUmodule m = NULL;
    CUfunction f = NULL;
    if (AN(cuLinkCreate(0, NULL, NULL, &state), "a link")) return;
    /* One image: which call tells of a mistake in its middle, and what a second one of the same name does, is the
     * linker's own. */
    unsigned i = an_chance(50) ? 0 : 1 + an_below(6), type = an_chance(90) ? CU_JIT_INPUT_PTX : 99;
    if (!AN(cuLinkAddData(state, (CUjitInputType)type, (void *)(uintptr_t)images[i].text, strlen(images[i].text) + 1,
                          "image", 0, NULL, NULL),
            "of %s, as %u", images[i].name, type) &&
        !AN(cuLinkComplete(state, &cubin, &bytes), "complete")) {
        an_more(cubin && bytes ? " some" : " none");
        if (!AN(cuModuleLoadData(&m, cubin), "loaded")) {
            AN(cuModuleGetFunction(&f, m, "k"), "its function");
            cu.cuModuleUnload(m);
        }
    }
    AN(cuLinkDestroy(state), "the link goes");
}

/* ---- The rest of the process ------------------------------------------------------------------------------------- */

static void op_process(void)
{
    int n = -99, d = (int)an_below(4) - 1;
    size_t bytes = 0;
    const char *text = NULL;
    CUdevice device = 99;
    CUcontext ctx = NULL, was = NULL;
    unsigned flags = 99;
    void *p = NULL;
    CUdriverProcAddressQueryResult found = (CUdriverProcAddressQueryResult)9;
    switch (an_below(13)) {
    case 0: AN(cuDeviceGet(&device, d), "device %d", d); break;
    case 1:
        AN(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, d), "warps of device %d", d);
        an_more(" %d", n);
        break;
    case 2:
        AN(cuDeviceGetAttribute(&n, (CUdevice_attribute)AN_PICK(((const int[]){ 0, -1, 999 })), 0),
           "an unknown attribute of the device");
        break;
    case 3:
        AN(cuGetErrorName((CUresult)AN_PICK(((const int[]){ 0, 1, 700, 12345, -1 })), &text), "name of an error");
        an_more(" %s", text ? text : "none");
        break;
    case 4: {
        int limit = (int)an_below(12) - 1;
        AN(cuCtxGetLimit(&bytes, (CUlimit)limit), "limit %d", limit);
        break;
    }
    case 5: {
        static const struct {
            const char *name;
            int version;
        } asked[] = { { "cuMemAlloc", 12000 },     { "cuMemAlloc", 1000 },      { "cuNothing", 12000 },
                      { "cuGraphAddNode", 12020 }, { "cuGraphAddNode", 11000 }, { "cuCtxSynchronize", 99990 } };
        unsigned i = an_below(sizeof asked / sizeof *asked);
        if (!cu.cuGetProcAddress) break;
        AN(cuGetProcAddress(asked[i].name, &p, asked[i].version, an_below(3), &found), "%s of %d", asked[i].name,
           asked[i].version);
        an_more(" %d%s", (int)found, p ? " some" : " none");
        break;
    }
    case 6:
        AN(cuCtxPushCurrent(an_other_context()->ctx), "another context");
        AN(cuCtxGetDevice(&device), "its device");
        an_more(" %d", device);
        AN(cuCtxPopCurrent(&was), "popped");
        break;
    case 7: AN(cuCtxPopCurrent(&was), "popped"); AN(cuCtxGetDevice(&device), "the device"); AN(cuCtxGetCurrent(&ctx),
        "the context"); an_more(ctx ? " some" : " none"); AN(cuCtxPushCurrent(was), "pushed"); break;
    case 8: AN(cuCtxPushCurrent(NULL), "no context is pushed"); break;
    case 9:
        AN(cuDevicePrimaryCtxGetState(d, &flags, &n), "primary context of %d", d);
        an_more(" %x %d", flags, n);
        break;
    case 10:
        flags = AN_PICK(((const unsigned[]){ 0x400, 0x100, 3, 0x7 }));
        AN(cuDevicePrimaryCtxSetFlags(0, flags), "flags %x of the primary context", flags);
        break;
    case 11: AN(cuCtxGetFlags(&flags), "flags of the context"); an_more(" %x", flags & ~8u); break;
    default: AN(cuInit(an_below(2)), "init again");
    }
}

/* ---- A program --------------------------------------------------------------------------------------------------- */

static const an_op ops[] = {
    { "attribute", op_attribute, 8 },
    { "set attribute", op_set_attribute, 10 },
    { "facts", op_facts, 10 },
    { "find", op_find, 6 },
    { "occupancy", op_occupancy, 12 },
    { "launch", op_launch, 20 },
    { "launch ex", op_launch_ex, 14 },
    { "launch extra", op_launch_extra, 4 },
    { "cooperative", op_cooperative, 3 },
    { "wrong launch", op_wrong_launch, 3 },
    { "load", op_load, 5 },
    { "link", op_link, 3 },
    { "process", op_process, 8 },
};

void an_program_functions(void)
{
    an_attach(&tools);
    if (cu.cuModuleLoadData(&module, an_ptx)) tap_bail("the kernels do not load");
    for (unsigned i = 0; i < FUNCTIONS; i++)
        if (cu.cuModuleGetFunction(&function[i], module, function_names[i]))
            tap_bail("no kernel %s", function_names[i]);
    for (unsigned i = 0, n = 15 + an_below(25); i < n; i++) an_draw(ops, sizeof ops / sizeof *ops);
    AN(cuCtxSynchronize(), "the end");
    an_tell_words(&tools);
    AN(cuModuleUnload(module), "the module goes");
}
