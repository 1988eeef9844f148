/* Every public function takes NULL and handles of another type at every place that wants a handle, and zeros everywhere else: a clear error
 * that names the thing, no crash, nothing lost.
 *
 * The functions are read from the headers and called through dlsym, as a language runtime would: handles and numbers as 64-bit integers. */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

enum { MAX_PARAMS = 8, MAX_FUNCTIONS = 400 };

/* The kinds of handle; an index into `live` and into `wrong`. */
static const char *const handle_types[] = { "cj_ptx", "cj_fn", "cj_driver", "cj_device", "cj_image", "cj_module", "cj_kernel",
                                            "cj_stream", "cj_event", "cj_graph", "cj_exec" };
enum { HANDLES = sizeof handle_types / sizeof *handle_types, PTX = 0, FN, DRIVER, DEVICE, IMAGE, MODULE, KERNEL, STREAM, EVENT, GRAPH, EXEC };

enum result { RESULT_VOID, RESULT_STATUS, RESULT_VALUE, RESULT_OBJECT, RESULT_TEXT, RESULT_OTHER };

typedef struct function {
    char name[64];
    enum result result;
    int result_handle; /* RESULT_OBJECT */
    int nparams;
    int handle[MAX_PARAMS]; /* which kind, or -1 */
    uint64_t (*call)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
} function;

static function functions[MAX_FUNCTIONS];
static int nfunctions;
static void *live[HANDLES];
static cj_ptx *other; /* what stands where another type is wanted: this builder, and the driver for a builder */

/* -- Reading the headers ---------------------------------------------------------------------------------------------------- */

/* The kind of handle that `type` ("const cj_stream *s") is, -1 for none. */
static int handle_of(const char *type)
{
    if (!strncmp(type, "const ", 6)) type += 6;
    for (int i = 0; i < HANDLES; i++) {
        size_t n = strlen(handle_types[i]);
        if (!strncmp(type, handle_types[i], n) && type[n] == ' ' && type[n + 1] == '*' && type[n + 2] != '*') return i;
    }
    return -1;
}

/* One declaration without CJ_API: "cj_status cj_stream_wait(cj_stream *s, cj_event *e)". */
static void read_declaration(char *text)
{
    char *open = strchr(text, '('), *name = open;
    if (!open || nfunctions == MAX_FUNCTIONS) tap_bail("cannot read '%s'", text);
    while (isalnum((unsigned char)name[-1]) || name[-1] == '_') name--;
    function *f = &functions[nfunctions++];
    *f = (function){ .nparams = 0 };
    snprintf(f->name, sizeof f->name, "%.*s", (int)(open - name), name);
    f->result_handle = handle_of(text);
    f->result = f->result_handle >= 0                                                           ? RESULT_OBJECT
                : !strncmp(text, "void ", 5) && name == text + 5                                ? RESULT_VOID
                : !strncmp(text, "cj_status ", 10)                                              ? RESULT_STATUS
                : !strncmp(text, "cj_val ", 7) || !strncmp(text, "cj_dptr ", 8)                 ? RESULT_VALUE
                : !strncmp(text, "const char *", 12)                                            ? RESULT_TEXT
                                                                                                : RESULT_OTHER;
    int depth = 0;
    char *begin = open + 1;
    for (char *p = open + 1; *p; p++) {
        if (*p == '(') depth++;
        if ((*p == ',' && !depth) || (*p == ')' && !depth--)) {
            while (isspace((unsigned char)*begin)) begin++;
            if (strncmp(begin, "void)", 5)) {
                if (f->nparams == MAX_PARAMS) tap_bail("%s has too many parameters for this test", f->name);
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

static void read_headers(void)
{
    DIR *d = opendir(tap_source("include/cujit"));
    struct dirent *e;
    char name[300];
    while (d && (e = readdir(d))) {
        if (!strstr(e->d_name, ".h") || !strcmp(e->d_name, "sim.h")) continue;
        snprintf(name, sizeof name, "include/cujit/%s", e->d_name);
        read_header(tap_source(name));
    }
    if (d) closedir(d);
}

/* -- Calling them ----------------------------------------------------------------------------------------------------------- */

static void release(int kind, void *object)
{
    switch (kind) {
    case PTX: cj_ptx_free(object); break;
    case DRIVER: cj_driver_close(object); break;
    case DEVICE: cj_device_close(object); break;
    case IMAGE: cj_image_free(object); break;
    case MODULE: cj_module_free(object); break;
    case KERNEL: cj_kernel_free(object); break;
    case STREAM: cj_stream_free(object); break;
    case EVENT: cj_event_free(object); break;
    case GRAPH: cj_graph_free(object); break;
    case EXEC: cj_exec_free(object); break;
    default: break;
    }
}

/* Functions that lend a handle, so what they give back is not the caller's. */
static bool lends(const function *f)
{
    static const char *const names[] = { "cj_fn_module", "cj_here", "cj_here_ptx", "cj_device_driver", "cj_stream_device", "cj_event_device",
                                         "cj_kernel_module", "cj_module_device", "cj_kernel_device" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(f->name, names[i])) return true;
    return false;
}

static bool frees(const function *f) { return strstr(f->name, "_free") || strstr(f->name, "_close"); }

/* A builder keeps its first failure: each probe gets a new one. */
static void fresh_builder(void)
{
    cj_ptx_free(live[PTX]);
    live[PTX] = cj_ptx_create();
    live[FN] = cj_ptx_kernel(live[PTX], "k");
}

/* Calls `f` with `bad` at parameter `at` and live handles at the others; says what is wrong with the answer, NULL for nothing. */
static const char *probe(const function *f, int at, void *bad)
{
    static char why[700];
    uint64_t a[MAX_PARAMS] = { 0 };
    fresh_builder();
    for (int i = 0; i < f->nparams; i++)
        if (f->handle[i] >= 0) a[i] = (uint64_t)(uintptr_t)(i == at ? bad : live[f->handle[i]]);
    cj_stream_sync(live[STREAM]); /* forgets earlier failures */
    cj_set_log(NULL, NULL);       /* leaves CJ_EBUSY as this thread's latest */
    uint64_t r = f->call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    const cj_error *last = cj_error_last();
    bool told = last->status == CJ_EHANDLE && (strstr(last->message, handle_types[f->handle[at]]) || strstr(last->message, "NULL"));
    switch (f->result) {
    case RESULT_STATUS:
        if (!bad && (cj_status)(int32_t)r == CJ_OK && !strcmp(f->name, "cj_free")) return NULL;
        if ((cj_status)(int32_t)r != CJ_EHANDLE) return snprintf(why, sizeof why, "it returns %s", cj_status_name((cj_status)(int32_t)r)), why;
        break;
    case RESULT_VALUE:
        if (r) return "it returns a value";
        break;
    case RESULT_OBJECT: {
        if (lends(f)) return !r || (void *)(uintptr_t)r == bad ? NULL : "it lends an object";
        if (!r) return "it returns NULL";
        int status = cj_error_of((void *)(uintptr_t)r)->status;
        release(f->result_handle, (void *)(uintptr_t)r);
        if (status != CJ_EHANDLE) return snprintf(why, sizeof why, "its object keeps %s", cj_status_name((cj_status)status)), why;
        break;
    }
    case RESULT_TEXT: return r ? NULL : "it returns no text";
    case RESULT_OTHER: return (int64_t)r == 0 || (int32_t)r < 0 || (r & 0xff) == 0 || r == UINT64_MAX ? NULL : "it returns something";
    case RESULT_VOID:
        if (!bad && frees(f)) return NULL; /* releasing NULL is fine */
        break;
    }
    if (!told) return snprintf(why, sizeof why, "the thread's record is %s: %s", cj_status_name((cj_status)last->status), last->message), why;
    return NULL;
}

static void try_function(const function *f)
{
    int handles = 0, tried = 0;
    const char *why = NULL;
    for (int i = 0; i < f->nparams; i++) handles += f->handle[i] >= 0;
    if (!handles || !f->call) return;
    for (int i = 0; i < f->nparams && !why; i++) {
        if (f->handle[i] < 0 || (i > 0 && frees(f))) continue;
        if (!(why = probe(f, i, NULL))) why = probe(f, i, f->handle[i] <= FN ? live[DRIVER] : other);
        tried++;
    }
    tap_ok(!why, "%s: NULL and another handle at %d place%s", f->name, tried, tried == 1 ? "" : "s");
    if (why) tap_diag("%s", why);
}

/* Functions without a handle take zeros: no crash, and a failed object or an error where they cannot do it. */
static void try_without_handle(const function *f)
{
    for (int i = 0; i < f->nparams; i++)
        if (f->handle[i] >= 0) return;
    if (!f->call) return;
    uint64_t r = f->call(0, 0, 0, 0, 0, 0, 0, 0);
    if (f->result == RESULT_OBJECT) {
        tap_ok(r != 0, "%s takes zeros and gives an object", f->name);
        release(f->result_handle, (void *)(uintptr_t)r);
    } else {
        tap_pass("%s takes zeros", f->name);
    }
}

/* -- Live handles of every kind ------------------------------------------------------------------------------------------------ */

static void make_live(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_ptx_kernel(m, "empty");
    other = cj_ptx_create();
    fresh_builder();
    live[DRIVER] = cj_driver_open(NULL);
    live[DEVICE] = cj_device_open(live[DRIVER], 0);
    live[IMAGE] = cj_image_create(live[DEVICE], m);
    live[MODULE] = cj_module_load_image(live[DEVICE], live[IMAGE]);
    live[KERNEL] = cj_module_kernel(live[MODULE], "empty");
    live[STREAM] = cj_stream_create(live[DEVICE], NULL);
    live[EVENT] = cj_event_create(live[DEVICE], NULL);
    cj_capture_begin(live[STREAM], CJ_CAPTURE_THREAD);
    live[GRAPH] = cj_capture_end(live[STREAM]);
    live[EXEC] = cj_graph_instantiate(live[GRAPH], NULL);
    cj_ptx_free(m);
    for (int i = 0; i < HANDLES; i++)
        if (cj_error_of(live[i])->status) tap_bail("no %s: %s", handle_types[i], cj_error_of(live[i])->message);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    make_live();
    read_headers();
    tap_ok(nfunctions > 200, "the headers declare %d functions", nfunctions);
    for (int i = 0; i < nfunctions; i++) try_function(&functions[i]);
    for (int i = 0; i < HANDLES; i++)
        if (i != STREAM) tap_ok(i <= FN || cj_error_of(live[i])->status == CJ_OK || cj_error_of(live[i])->status == CJ_EHANDLE, "the live %s is well", handle_types[i]);
    for (int i = HANDLES - 1; i >= 0; i--) release(i, live[i]);
    cj_ptx_free(other);
    for (int i = 0; i < nfunctions; i++) try_without_handle(&functions[i]);
    return tap_done();
}
