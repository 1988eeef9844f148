/* Every public function takes NULL, handles of another type and failed objects at every place that wants a handle, and
 * zeros everywhere else: a clear error that names the thing, no crash, nothing lost. */
#include <stdio.h>
#include <string.h>

#include <cujit/cujit.h>

#include "api.h"
#include "tests/tap.h"

static cj_ptx *other;              /* stands where another type is wanted; the driver does for a builder */
static void *failed[API_HANDLES];  /* a failed object of each kind */

/* Calls `f` with `bad` at parameter `at` and good handles at the others; says what is wrong with the answer, NULL for
 * nothing. */
static const char *probe(const api_function *f, int at, void *bad, int status)
{
    static char why[700];
    uint64_t a[API_PARAMS] = { 0 };
    int kind = f->handle[at];
    api_fresh_builder(); /* a builder keeps its first failure */
    for (int i = 0; i < f->nparams; i++)
        if (f->handle[i] >= 0) a[i] = (uint64_t)(uintptr_t)(i == at ? bad : api_live[f->handle[i]]);
    cj_stream_sync(api_live[API_STREAM]); /* forgets earlier failures */
    cj_set_log(NULL, NULL);               /* leaves CJ_EBUSY as this thread's latest */
    uint64_t r = api_call(f, a);
    const cj_error *last = cj_error_last();
    bool told = last->status == status && (status != CJ_EHANDLE || strstr(last->message, api_handle_name[kind]) ||
                                           strstr(last->message, "NULL") || strstr(last->message, "none"));
    if (kind <= API_FN && status != CJ_EHANDLE) told = true; /* a builder that has failed just keeps its failure */
    switch (f->result) {
    case API_STATUS:
        if ((int32_t)r != status)
            return snprintf(why, sizeof why, "it returns %s", cj_status_name((cj_status)(int32_t)r)), why;
        break;
    case API_VALUE:
        if (r) return "it returns a value";
        break;
    case API_OBJECT: {
        if (api_lends(f)) return !r || (void *)(uintptr_t)r == bad ? NULL : "it lends an object";
        if (!r) return "it returns NULL";
        int got = cj_error_of((void *)(uintptr_t)r)->status;
        api_release(f->result_handle, (void *)(uintptr_t)r);
        if (got != status) return snprintf(why, sizeof why, "its object keeps %s", cj_status_name((cj_status)got)), why;
        break;
    }
    case API_TEXT: return r ? NULL : "it returns no text";
    case API_OTHER: return r == 0 || (int32_t)r < 0 || (r & 0xff) == 0 ? NULL : "it returns something";
    case API_VOID:
        if (api_frees(f) && (!bad || status != CJ_EHANDLE)) return NULL; /* releasing NULL and failed objects is fine */
        break;
    }
    if (!told)
        return snprintf(why, sizeof why, "the thread's record is %s: %s", cj_status_name((cj_status)last->status),
                        last->message),
               why;
    return NULL;
}

/* A report of no stream is one of all streams. */
static bool may_be_null(const api_function *f, int param)
{
    return param == 1 && f->handle[0] == API_PROFILE && f->handle[1] == API_STREAM;
}

static void try_function(const api_function *f)
{
    const char *why = NULL, *what = "";
    for (int i = 0; i < f->nparams && !why; i++) {
        int kind = f->handle[i];
        if (kind < 0) continue;
        if (!may_be_null(f, i) && (why = probe(f, i, NULL, CJ_EHANDLE))) what = "NULL";
        else if ((why = probe(f, i, kind <= API_FN ? api_live[API_DRIVER] : other, CJ_EHANDLE))) what = "another type";
        else if (!api_frees(f) && (why = probe(f, i, failed[kind], cj_error_of(failed[kind])->status)))
            what = "a failed object";
        if (why) tap_diag("parameter %d, %s: %s", i + 1, what, why);
    }
    tap_ok(!why, "%s takes wrong handles", f->name);
}

/* Functions without a handle take zeros: no crash, and an object where they make one. */
static void try_without_handle(const api_function *f)
{
    static const uint64_t zeros[API_PARAMS];
    uint64_t r = api_call(f, zeros);
    tap_ok(f->result != API_OBJECT || r, "%s takes zeros", f->name);
    if (f->result == API_OBJECT) api_release(f->result_handle, (void *)(uintptr_t)r);
    /* an object of no type */
    if (!strcmp(f->name, "cj_object_create")) cj_object_free((void *)(uintptr_t)r, NULL, NULL);
}

static void make_failed(void)
{
    const void *garbage = "no image";
    failed[API_PTX] = cj_ptx_create();
    failed[API_FN] = cj_ptx_kernel(failed[API_PTX], "no name"); /* both keep the failure */
    failed[API_DRIVER] = cj_driver_open("/nonexistent/libcuda.so");
    failed[API_DEVICE] = cj_device_open(api_live[API_DRIVER], 9999, NULL);
    failed[API_IMAGE] = cj_image_from(api_live[API_DEVICE], garbage, 0);
    failed[API_MODULE] = cj_module_load_text(api_live[API_DEVICE], "no PTX", NULL);
    failed[API_KERNEL] = cj_module_kernel(api_live[API_MODULE], "missing");
    failed[API_STREAM] = cj_stream_wrap(api_live[API_DEVICE], NULL);
    failed[API_EVENT] = cj_event_create(failed[API_DEVICE], NULL);
    failed[API_GRAPH] = cj_capture_end(api_live[API_STREAM]);
    failed[API_NODE] = cj_graph_host_func(api_live[API_GRAPH], NULL, NULL, NULL);
    failed[API_EXEC] = cj_graph_instantiate(failed[API_GRAPH], NULL);
    failed[API_EXEC_CACHE] = cj_graph_exec_cache_create(failed[API_DEVICE], NULL);
    failed[API_HUB] = cj_stream_barrier_create(failed[API_DEVICE]);
    failed[API_EVENT_POOL] = cj_event_pool_create(failed[API_DEVICE], NULL);
    failed[API_STREAM_POOL] = cj_stream_pool_create(failed[API_DEVICE], NULL);
    failed[API_WAITER] = cj_waiter_create(failed[API_DEVICE], NULL);
    failed[API_COORD] = cj_coord_create(failed[API_DEVICE], NULL);
    failed[API_PROFILE] = cj_profile_create(&(cj_profile_opts){ .size = 1 });
    failed[API_PIPELINE] = cj_pipeline_create(failed[API_DEVICE], NULL);
    failed[API_LINKER] = cj_linker_create(failed[API_DEVICE], NULL);
    failed[API_KERNEL_CACHE] = cj_kernel_cache_create(failed[API_DEVICE], NULL);
    failed[API_COMPILER] = cj_compiler_create(failed[API_DEVICE], NULL);
    failed[API_FUTURE] = cj_compiler_image(failed[API_COMPILER], NULL, NULL);
    failed[API_DISK_CACHE] = cj_disk_cache_open("no absolute path");
    failed[API_MEM_POOL] = cj_mem_pool_create(failed[API_DEVICE], NULL);
    failed[API_VMEM] = cj_vmem_create(failed[API_STREAM], 1, NULL);
    failed[API_ARRAY] = cj_array_create(failed[API_DEVICE], NULL);
    failed[API_TEXTURE] = cj_texture_create(failed[API_ARRAY], NULL);
    failed[API_SURFACE] = cj_surface_create(failed[API_ARRAY]);
    for (int i = 0; i < API_HANDLES; i++)
        tap_ok(cj_error_of(failed[i])->status < 0 && cj_error_of(failed[i])->message[0], "a failed %s says why: %s",
               api_handle_name[i], cj_error_of(failed[i])->message);
    cj_stream_sync(api_live[API_STREAM]);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    api_make_live();
    api_read_headers();
    other = cj_ptx_create();
    make_failed();
    tap_ok(api_count > 200, "the headers declare %d functions", api_count);
    for (int i = 0; i < api_count; i++)
        if (api_functions[i].nhandles) try_function(&api_functions[i]);
    cj_stream_sync(api_live[API_STREAM]);
    for (int i = API_HANDLES - 1; i >= 0; i--) api_release(i, failed[i]);
    api_release_live();
    cj_ptx_free(other);
    for (int i = 0; i < api_count; i++)
        if (!api_functions[i].nhandles) try_without_handle(&api_functions[i]);
    return tap_done();
}
