/* One link: cuLinkCreate, cuLinkAddData for each input, cuLinkComplete; and what its failure means. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "driver/compile/compile.h"
#include "driver/image.h"

/* -- Names that nothing defines ------------------------------------------------------------------------------------ */

/* The quoted name behind the next mark at or behind *at, which moves behind it; NULL: no more. */
static const char *next_unresolved(const char **at, size_t *n)
{
    static const char *const marks[] = { "Undefined reference to '", "Unresolved extern function '",
                                         "Unresolved extern variable '" };
    const char *first = NULL, *name = NULL;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *found = strstr(*at, marks[i]);
        if (!found || (first && found > first)) continue;
        first = found;
        name = found + strlen(marks[i]);
    }
    if (!name) return NULL;
    *n = strcspn(name, "'\n");
    *at = name + *n;
    return name;
}

/* The names in the log, each once, separated by ", "; returns how many there are. */
static size_t list_unresolved(const char *log, char *out, size_t size)
{
    cji_map seen = { 0 };
    cji_line line = { .p = out, .size = size };
    const char *name;
    size_t n, shown = 0;
    *out = 0;
    while ((name = next_unresolved(&log, &n))) {
        size_t known = seen.n;
        if (cji_map_intern(&seen, name, n) == CJI_MAP_NONE) break;
        if (seen.n == known) continue;
        if (line.n + n + 8 < size) cji_say(&line, "%s%.*s", shown++ ? ", " : "", (int)n, name);
    }
    if (shown < seen.n) cji_say(&line, "%s...", shown ? ", " : "");
    n = seen.n;
    cji_map_free(&seen);
    return n;
}

/* -- Failures ------------------------------------------------------------------------------------------------------ */

typedef struct link_inputs { cji_link_input *const *input; size_t n; } link_inputs;

typedef struct link_try {
    CUresult r;
    const char *cu_call;
    const cji_link_input *at;      /* the input whose cuLinkAddData failed; NULL: another call */
    bool again;                    /* a log buffer was too small */
} link_try;

static cji_jit_source link_source(const cji_link_input *in)
{
    bool text = in && in->type == CU_JIT_INPUT_PTX;
    return (cji_jit_source){ .m = in ? in->source : NULL, .flags = in ? in->flags : 0, .text = text ? in->data : NULL,
                             .name = in ? in->name : NULL };
}

/* Whether a line begins with the name and the number of a line: "a.ptx:12:". */
static bool names_input(const char *line, const cji_link_input *in)
{
    const size_t n = strlen(in->name);
    return in->type == CU_JIT_INPUT_PTX && n && !strncmp(line, in->name, n) && line[n] == ':' && line[n + 1] >= '1' &&
           line[n + 1] <= '9';
}

/* The PTX that the first such line is about; NULL: there is none, or several have that name. */
static const cji_link_input *named_input(const char *log, const link_inputs *from)
{
    for (const char *p = log; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        const cji_link_input *found = NULL;
        size_t count = 0;
        for (size_t i = 0; i < from->n; i++)
            if (names_input(p, from->input[i])) found = from->input[i], count++;
        if (count) return count == 1 ? found : NULL;
    }
    return NULL;
}

/* What the log is about. */
static const cji_link_input *input_of_log(const link_try *t, const cji_jit *jit, const link_inputs *from)
{
    if (t->at || from->n == 1) return t->at ? t->at : from->input[0];
    const cji_link_input *in = named_input(jit->error, from);
    return in ? in : named_input(jit->info, from);
}

static cj_status link_rejected(cj_image *img, const link_try *t, const link_inputs *from, const char *call)
{
    char names[280];
    const char *log = cji_text_str(&img->log);
    size_t n = list_unresolved(log, names, sizeof names);
    if (!cji_jit_rejects(t->r) && t->r != CUDA_ERROR_UNKNOWN && t->r != CUDA_ERROR_INVALID_VALUE)
        return cji_cu_fail_as(img, img->dev, t->r, CJ_OK, t->cu_call, call, "%s: the inputs were not linked",
                              call);
    for (size_t i = 0; i < from->n; i++)
        if (from->input[i]->type == CU_JIT_INPUT_PTX) cji_jit_dump(from->input[i]->data, log);
    if (n)
        return cji_cu_fail_as(img, img->dev, t->r, CJ_ENOTFOUND, t->cu_call, call,
                              "%s: no input defines %s; add what %s", call, names, n == 1 ? "does" : "defines them");
    const cji_link_input *in = t->at ? t->at : named_input(log, from);
    if (in && in->type == CU_JIT_INPUT_PTX && (t->at || cji_jit_rejects(t->r)))
        return cji_jit_fail(img, img->dev, t->r, t->cu_call, call, &img->log, link_source(in));
    size_t first = strcspn(log, "\n");
    return cji_cu_fail_as(img, img->dev, t->r, CJ_EJIT, t->cu_call, call,
                          "%s: the driver's linker rejects %s%s%.*s", call, t->at ? t->at->name : "the inputs",
                          first ? ": " : "", (int)(first < 280 ? first : 280), log);
}

/* -- Linking ------------------------------------------------------------------------------------------------------- */

static cj_status take_cubin(cj_image *img, const void *cubin, size_t bytes, const char *call)
{
    if (!bytes) return cji_fail(img, CJ_EDRIVER, call, "the linker returned no code");
    img->data = cji_alloc(bytes);
    if (!img->data) return cji_fail(img, CJ_ENOMEM, call, "no memory for %zu bytes of linked code", bytes);
    memcpy(img->data, cubin, bytes);
    img->bytes = img->room = bytes;
    return CJ_OK;
}

static link_try add_and_complete(const cji_cu *cu, CUlinkState state, const link_inputs *from, void **cubin,
                                 size_t *bytes)
{
    for (size_t i = 0; i < from->n; i++) {
        const cji_link_input *in = from->input[i];
        CUresult r = cu->cuLinkAddData(state, in->type, in->data, in->bytes, in->name, 0, NULL, NULL);
        if (r != CUDA_SUCCESS) return (link_try){ .r = r, .cu_call = "cuLinkAddData", .at = in };
    }
    return (link_try){ .r = cu->cuLinkComplete(state, cubin, bytes), .cu_call = "cuLinkComplete" };
}

/* One try; *again asks for larger log buffers.  Context current. */
static cj_status link_all_once(cj_image *img, const link_inputs *from, const cj_compile_opts *o, size_t log_size,
                               bool *again, const char *call)
{
    const cji_cu *cu = &img->dev->api;
    CUlinkState state = NULL;
    cji_jit jit;
    void *cubin = NULL;
    size_t bytes = 0;
    cj_status status = CJ_OK;
    *again = false;
    if (!cji_jit_begin(&jit, log_size, o)) return cji_fail(img, CJ_ENOMEM, call, "no memory for the linker's log");
    link_try t = { .r = cu->cuLinkCreate(jit.count, jit.option, jit.value, &state), .cu_call = "cuLinkCreate" };
    if (t.r == CUDA_SUCCESS) t = add_and_complete(cu, state, from, &cubin, &bytes);
    *again = cji_jit_cut(&jit);
    if (!*again && t.r == CUDA_SUCCESS) status = take_cubin(img, cubin, bytes, call);
    if (state) cu->cuLinkDestroy(state);   /* the log buffers are the driver's until then */
    cji_jit_end(&jit, link_source(input_of_log(&t, &jit, from)), &img->log);
    if (*again) cji_text_free(&img->log);
    else if (!state && t.r == CUDA_ERROR_NOT_SUPPORTED) cji_jit_no_linker(img->dev->drv);
    else if (t.r != CUDA_SUCCESS) status = link_rejected(img, &t, from, call);
    return status;
}

/* What is known of the kernels; a kernel of an input without PTX is looked up in the driver. */
static cj_status link_entries(cj_image *img, cji_link_input *const *input, size_t n, const char *call)
{
    const cji_entries **list = cji_zalloc(n * sizeof *list);
    for (size_t i = 0; list && i < n; i++) list[i] = input[i]->entries;
    img->entries = list ? cji_entries_join(list, n) : NULL;
    cji_free(list, n * sizeof *list);
    return img->entries ? CJ_OK : cji_fail(img, CJ_ENOMEM, call, "no memory for the kernels' parameters");
}

/* Without a linker: one PTX text, which is compiled when it is loaded. */
static cj_status link_nothing(cj_image *img, cji_link_input *const *input, size_t n, const cj_compile_opts *o,
                              const char *call)
{
    if (n > 1 || input[0]->type != CU_JIT_INPUT_PTX)
        return cji_fail(img, CJ_ENOTSUP, call,
                        "the driver has no linker (cuLinkCreate): it compiles one PTX text alone; install driver "
                        "%d or newer", cji_cu_driver_branch(6050));
    cj_status status = cji_image_keep_text(img, input[0]->data, input[0]->bytes - 1, o, call);
    return status == CJ_OK ? link_entries(img, input, n, call) : status;
}

cj_status cji_link_run(cj_image *img, cji_link_input *const *input, size_t n, const cj_compile_opts *o,
                       const char *call)
{
    cji_scope scope;
    if (!n) return cji_fail(img, CJ_ESTATE, call, "the linker has no inputs: add one first");
    if (cji_jit_lacks_linker(img->dev->drv)) return link_nothing(img, input, n, o, call);
    cj_status status = cji_scope_begin_relaxed(img, img->dev, &scope, call);
    if (status != CJ_OK) return status;
    for (size_t log_size = CJI_JIT_LOG;; log_size *= 8) {
        bool again;
        status = link_all_once(img, &(link_inputs){ input, n }, o, log_size, &again, call);
        if (!again) break;
        if (log_size > SIZE_MAX / 16) {
            status = cji_fail(img, CJ_EJIT, call, "the linker's log never ends");
            break;
        }
    }
    cji_scope_leave(&scope);
    if (status == CJ_OK && !img->data) return link_nothing(img, input, n, o, call);
    return status == CJ_OK ? link_entries(img, input, n, call) : status;
}
