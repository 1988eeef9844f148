/* Reads the public headers: see api.h. */
#include "api.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

const char *const api_handle_name[API_HANDLES] = {
    "cj_ptx",    "cj_fn",    "cj_driver", "cj_device",     "cj_image", "cj_module",           "cj_kernel",
    "cj_stream", "cj_event", "cj_graph",  "cj_graph_exec", "cj_node",  "cj_graph_exec_cache", "cj_stream_barrier",
    "cj_event_pool", "cj_stream_pool", "cj_waiter", "cj_coord", "cj_profile", "cj_pipeline",
    "cj_prepared", "cj_linker", "cj_kernel_cache", "cj_compiler", "cj_future", "cj_vmem",
    "cj_array", "cj_texture", "cj_surface", "cj_disk_cache", "cj_tensor", "cj_mem_pool"
};
api_function api_functions[API_FUNCTIONS];
int api_count;
void *api_live[API_HANDLES];

/* -- Reading the headers ------------------------------------------------------------------------------------------- */

/* The kind of handle that `type` ("const cj_stream *s") is, -1 for none. */
static int handle_of(const char *type)
{
    if (!strncmp(type, "const ", 6)) type += 6;
    for (int i = 0; i < API_HANDLES; i++) {
        size_t n = strlen(api_handle_name[i]);
        if (!strncmp(type, api_handle_name[i], n) && type[n] == ' ' && type[n + 1] == '*' && type[n + 2] != '*' &&
            strncmp(type + n + 2, "const *", 7) != 0) return i; /* not a list of them */
    }
    return -1;
}

/* One declaration without CJ_API: "cj_status cj_stream_wait(cj_stream *s, cj_event *e)". */
static void read_declaration(char *text)
{
    char *open = strchr(text, '('), *name = open;
    if (api_count == API_FUNCTIONS) tap_bail("more than %d functions: '%s'", API_FUNCTIONS, text);
    if (!open) tap_bail("cannot read '%s'", text);
    while (isalnum((unsigned char)name[-1]) || name[-1] == '_') name--;
    api_function *f = &api_functions[api_count++];
    *f = (api_function){ .nparams = 0 };
    snprintf(f->name, sizeof f->name, "%.*s", (int)(open - name), name);
    f->result_handle = handle_of(text);
    f->result = f->result_handle >= 0                                            ? API_OBJECT
                : !strncmp(text, "void ", 5) && name == text + 5                 ? API_VOID
                : !strncmp(text, "cj_status ", 10)                               ? API_STATUS
                : !strncmp(text, "cj_val ", 7) || !strncmp(text, "cj_dptr ", 8)  ? API_VALUE
                : !strncmp(text, "const char *", 12)                             ? API_TEXT
                                                                                 : API_OTHER;
    int depth = 0;
    char *begin = open + 1;
    for (char *p = open + 1; *p; p++) {
        if (*p == '(') depth++;
        if ((*p == ',' && !depth) || (*p == ')' && !depth--)) {
            while (isspace((unsigned char)*begin)) begin++;
            if (strncmp(begin, "void)", 5)) {
                if (f->nparams == API_PARAMS) tap_bail("%s has too many parameters for this test", f->name);
                f->nhandles += handle_of(begin) >= 0;
                f->handle[f->nparams++] = handle_of(begin);
            }
            begin = p + 1;
            if (depth < 0) break;
        }
    }
    *(void **)&f->call = dlsym(RTLD_DEFAULT, f->name);
    if (!f->call) tap_fail("%s is declared, and exported", f->name);
}

static void read_header(const char *path)
{
    char *text = tap_slurp(path, NULL), *out = text;
    if (!text) tap_bail("no %s", path);
    for (char *p = text; *p;) { /* comments and preprocessor lines go */
        if (p[0] == '/' && p[1] == '*') {
            p = strstr(p, "*/") + 2;
        } else if (*p == '#' && (out == text || out[-1] == '\n')) {
            while (*p && (*p != '\n' || p[-1] == '\\')) p++;
        } else {
            *out++ = *p++;
        }
    }
    *out = 0;
    for (char *p = text; (p = strstr(p, "CJ_API "));) {
        char *end = strchr(p, ';');
        *end = 0;
        for (char *q = p; *q; q++)
            if (*q == '\n') *q = ' ';
        read_declaration(p + 7);
        p = end + 1;
    }
    free(text);
}

void api_read_headers(void)
{
    DIR *d = opendir(tap_source("include/cujit"));
    struct dirent *e;
    char name[300];
    while (d && (e = readdir(d))) {
        if (!strstr(e->d_name, ".h") || !strcmp(e->d_name, "sim.h") ||
            !strncmp(e->d_name, "kernels", strlen("kernels"))) continue;
        snprintf(name, sizeof name, "include/cujit/%s", e->d_name);
        read_header(tap_source(name));
    }
    if (d) closedir(d);
}

/* -- Calling ------------------------------------------------------------------------------------------------------- */

void api_release(int kind, void *object)
{
    switch (kind) {
    case API_PTX: cj_ptx_free(object); break;
    case API_DRIVER: cj_driver_close(object); break;
    case API_DEVICE: cj_device_close(object); break;
    case API_IMAGE: cj_image_free(object); break;
    case API_MODULE: cj_module_free(object); break;
    case API_KERNEL: cj_kernel_free(object); break;
    case API_STREAM: cj_stream_free(object); break;
    case API_EVENT: cj_event_free(object); break;
    case API_GRAPH: cj_graph_free(object); break;
    case API_EXEC: cj_graph_exec_free(object); break;
    case API_EXEC_CACHE: cj_graph_exec_cache_free(object); break;
    case API_EVENT_POOL: cj_event_pool_free(object); break;
    case API_STREAM_POOL: cj_stream_pool_free(object); break;
    case API_PROFILE: cj_profile_free(object); break;
    case API_HUB: cj_stream_barrier_free(object); break;
    case API_WAITER: cj_waiter_free(object); break;
    case API_COORD: cj_coord_free(object); break;
    case API_PIPELINE: cj_pipeline_free(object); break;
    case API_PREPARED: cj_prepared_free(object); break;
    case API_LINKER: cj_linker_free(object); break;
    case API_KERNEL_CACHE: cj_kernel_cache_free(object); break;
    case API_COMPILER: cj_compiler_free(object); break;
    case API_FUTURE: cj_future_free(object); break;
    case API_VMEM: cj_vmem_free(object); break;
    case API_ARRAY: cj_array_free(object); break;
    case API_TEXTURE: cj_texture_free(object); break;
    case API_SURFACE: cj_surface_free(object); break;
    case API_DISK_CACHE: cj_disk_cache_close(object); break;
    case API_TENSOR: cj_tensor_free(object); break;
    case API_MEM_POOL: cj_mem_pool_free(object); break;
    default: break;
    }
}

/* Functions that lend a handle, so what they give back is not the caller's. */
bool api_lends(const api_function *f)
{
    static const char *const names[] = { "cj_fn_module",     "cj_here",         "cj_here_ptx",      "cj_device_driver",
                                         "cj_stream_device", "cj_event_device", "cj_kernel_module", "cj_module_device",
                                         "cj_kernel_device", "cj_node_graph",   "cj_node_in_clone",
                                         "cj_event_pool_device", "cj_event_pool_event", "cj_stream_pool_device",
                                         "cj_stream_pool_stream", "cj_pipeline_pending", "cj_prepared_kernel",
                                         "cj_tensor_device" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(f->name, names[i])) return true;
    return false;
}

bool api_frees(const api_function *f) { return strstr(f->name, "_free") || strstr(f->name, "_close"); }

uint64_t api_call(const api_function *f, const uint64_t *a)
{
    return f->call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

/* -- Good handles -------------------------------------------------------------------------------------------------- */

void api_fresh_builder(void)
{
    cj_ptx_free(api_live[API_PTX]);
    api_live[API_PTX] = cj_ptx_create();
    api_live[API_FN] = cj_ptx_kernel(api_live[API_PTX], "k");
}

void api_make_live(void)
{
    void **h = api_live;
    char folder[] = "/tmp/cujit-api-XXXXXX";
    cj_ptx *m = cj_ptx_create();
    cj_ptx_kernel(m, "empty");
    api_fresh_builder();
    h[API_DRIVER] = cj_driver_open(NULL);
    h[API_DEVICE] = cj_device_open(h[API_DRIVER], 0, NULL);
    h[API_IMAGE] = cj_image_create(h[API_DEVICE], m, NULL);
    h[API_MODULE] = cj_module_load_image(h[API_DEVICE], h[API_IMAGE]);
    h[API_KERNEL] = cj_module_kernel(h[API_MODULE], "empty");
    h[API_STREAM] = cj_stream_create(h[API_DEVICE], NULL);
    h[API_EVENT] = cj_event_create(h[API_DEVICE], NULL);
    cj_capture_begin(h[API_STREAM], CJ_CAPTURE_THREAD);
    h[API_GRAPH] = cj_capture_end(h[API_STREAM]);
    h[API_NODE] = cj_graph_empty(h[API_GRAPH], NULL);
    h[API_EXEC] = cj_graph_instantiate(h[API_GRAPH], NULL);
    h[API_EXEC_CACHE] = cj_graph_exec_cache_create(h[API_DEVICE], NULL);
    h[API_EVENT_POOL] = cj_event_pool_create(h[API_DEVICE], NULL);
    h[API_STREAM_POOL] = cj_stream_pool_create(h[API_DEVICE], NULL);
    h[API_PROFILE] = cj_profile_create(NULL);
    h[API_HUB] = cj_stream_barrier_create(h[API_DEVICE]);
    h[API_WAITER] = cj_waiter_create(h[API_DEVICE], NULL);
    h[API_COORD] = cj_coord_create(h[API_DEVICE], NULL);
    h[API_PIPELINE] = cj_pipeline_create(h[API_DEVICE], NULL);
    h[API_PREPARED] = cj_prepare(h[API_KERNEL], cj_grid(1, 1));
    h[API_LINKER] = cj_linker_create(h[API_DEVICE], NULL);
    h[API_KERNEL_CACHE] = cj_kernel_cache_create(h[API_DEVICE], NULL);
    h[API_COMPILER] = cj_compiler_create(h[API_DEVICE], NULL);
    h[API_FUTURE] = cj_compiler_image(h[API_COMPILER], m, NULL);
    cj_future_wait(h[API_FUTURE], -1);
    h[API_VMEM] = cj_vmem_create(h[API_STREAM], 1, NULL);
    h[API_ARRAY] = cj_array_create(h[API_DEVICE], CJ_ARRAY(.width = 16, .surface = 1));
    h[API_TEXTURE] = cj_texture_create(h[API_ARRAY], NULL);
    h[API_SURFACE] = cj_surface_create(h[API_ARRAY]);
    h[API_DISK_CACHE] = cj_disk_cache_open(mkdtemp(folder));
    rmdir(folder);
    static const int64_t none = 0;
    const cj_tensor_info empty = { .size = sizeof empty, .ndim = 1, .shape = &none, .type = { CJ_TENSOR_UINT, 8, 1 } };
    h[API_TENSOR] = cj_tensor_create(h[API_DEVICE], &empty, NULL, NULL);
    h[API_MEM_POOL] = cj_mem_pool_create(h[API_DEVICE], NULL);
    cj_ptx_free(m);
    for (int i = 0; i < API_HANDLES; i++)
        if (cj_error_of(h[i])->status) tap_bail("no %s: %s", api_handle_name[i], cj_error_of(h[i])->message);
}

void api_release_live(void)
{
    for (int i = API_HANDLES - 1; i >= 0; i--) api_release(i, api_live[i]);
}
