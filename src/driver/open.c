/* cj_driver: which library, why not another; the list of opened drivers.
 *
 * An opened library is one cj_driver for the whole process: opening it again retains it.  The list holds no
 * references; an entry leaves it
 * under the lock at the moment its last reference goes, so what is found there can be retained. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/sim.h>

#include "base/cancel.h"
#include "base/lock.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/process.h"
#include "driver/driver.h"
#include "driver/image_cache.h"
#include "driver/open.h"
#include "driver/symbols.h"

#ifndef CJI_PKGLIBDIR
#define CJI_PKGLIBDIR "/usr/local/lib/cujit"
#endif

/* -- The list ------------------------------------------------------------------------------------------------------ */

void cji_opened_lock(void)
{
    /* In a child of fork() the lock may be held by a thread that is not there, and the entries are the parent's. */
    uint32_t gen = cji_fork_gen();
    unsigned seen = atomic_load(&cji_process.drivers_gen);
    if (seen != gen && atomic_compare_exchange_strong(&cji_process.drivers_gen, &seen, gen) && gen != 1) {
        pthread_mutex_init(&cji_process.drivers_lock, NULL);
        cji_process.drivers = NULL;
    }
    cji_lock(&cji_process.drivers_lock, CJI_LOCK_DRIVERS);
}

void cji_opened_unlock(void) { cji_unlock(&cji_process.drivers_lock, CJI_LOCK_DRIVERS); }

static cj_driver *find_opened(void *lib)
{
    for (cj_driver *d = cji_process.drivers; d; d = d->next)
        if (d->lib == lib) return cji_obj_retain(d);
    return NULL;
}

void cji_driver_drop_locked(cj_driver *drv)
{
    CJI_NO_CANCEL;
    while (drv && cji_obj_release(drv)) {
        for (cj_driver **at = (cj_driver **)&cji_process.drivers; *at; at = &(*at)->next) {
            if (*at != drv) continue;
            *at = drv->next;
            break;
        }
        cj_driver *under = drv->interposer ? drv->interposer_end(drv->interposer) : NULL;
        cji_obj_delete(drv, sizeof *drv);
        drv = under;
    }
}

void cji_driver_drop(cj_driver *drv)
{
    cji_opened_lock();
    cji_driver_drop_locked(drv);
    cji_opened_unlock();
}

/* -- Starting a driver whose entry points are known ---------------------------------------------------------------- */

static void tell(cj_driver *drv, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void tell(cj_driver *drv, const char *fmt, ...)
{
    size_t n = strlen(drv->why);
    va_list args;
    if (n && n + 1 < sizeof drv->why) drv->why[n++] = '\n';
    va_start(args, fmt);
    vsnprintf(drv->why + n, sizeof drv->why - n, fmt, args);
    va_end(args);
}

static const char *called(const cj_driver *drv) { return drv->path[0] ? drv->path : "the driver"; }

/* Newest PTX version of a CUDA version: PTX ISA, "release notes".  Later minor versions of 13 are taken to go on in
 * step. */
static const struct ptx_row { int cuda, ptx; } ptx_rows[] = {
    { 13000, 90 }, { 12090, 88 }, { 12080, 87 }, { 12070, 86 }, { 12060, 85 }, { 12050, 85 }, { 12040, 84 },
    { 12030, 83 }, { 12020, 82 }, { 12010, 81 }, { 12000, 80 }, { 11080, 78 }, { 11070, 77 }, { 11060, 76 },
    { 11050, 75 }, { 11040, 74 }, { 11030, 73 }, { 11020, 72 }, { 11010, 71 }, { 11000, 70 }, { 10020, 65 },
    { 10010, 64 }, { 10000, 63 }, { 9020, 62 },  { 9010, 61 },  { 9000, 60 },
};
enum { PTX_ROWS = sizeof ptx_rows / sizeof *ptx_rows };

static int ptx_version_of(int cuda)
{
    if (cuda > 13000) return 90 + (cuda - 13000) / 10;
    for (size_t i = 0; i < PTX_ROWS; i++)
        if (cuda >= ptx_rows[i].cuda) return ptx_rows[i].ptx;
    return 50;
}

int cji_cuda_of_ptx(int ptx)
{
    int cuda = 13000 + (ptx > 90 ? (ptx - 90) * 10 : 0);
    for (size_t i = 0; i < PTX_ROWS && ptx <= ptx_rows[i].ptx; i++) cuda = ptx_rows[i].cuda;
    return cuda;
}

static cj_status fail_start(cj_driver *drv, CUresult r, const char *cu_call)
{
    const char *who = called(drv), *call = "cj_driver_open";
    switch ((int)r) {
    case CUDA_ERROR_STUB_LIBRARY:
        return cji_cu_fail_open(
            drv, drv, r, CJ_ENODRIVER, cu_call, call,
            "%s is the CUDA toolkit's stub library, not a driver: install the NVIDIA driver, or take "
            "the toolkit's stubs folder "
            "out of the library path",
            who);
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        return cji_cu_fail_open(
            drv, drv, r, CJ_ENODRIVER, cu_call, call,
            "%s and the NVIDIA kernel module have different versions: reboot, or load the module again", who);
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
        return cji_cu_fail_open(
            drv, drv, r, CJ_ENODRIVER, cu_call, call,
            "%s is of a forward-compatibility package, which this GPU does not support: take its folder out of the "
            "library path",
            who);
    case CUDA_ERROR_NO_DEVICE:
        return cji_cu_fail_open(drv, drv, r, CJ_ENODEVICE, cu_call, call, "%s finds no CUDA device", who);
    case CUDA_ERROR_NOT_INITIALIZED:
        if (cji_fork_gen() != 1)
            return cji_cu_fail_open(
                drv, drv, r, CJ_EFORKED, cu_call, call,
                "%s was used before fork() and cannot be used in the child: open it in the child only, or exec", who);
        break;
    case CUDA_ERROR_INVALID_VALUE:
        if (drv->complaint && *drv->complaint())
            return cji_cu_fail_open(drv, drv, r, CJ_OK, cu_call, call, "%s does not start: %s", who, drv->complaint());
        break;
    default: break;
    }
    return cji_cu_fail_open(drv, drv, r, CJ_OK, cu_call, call, "%s does not start", who);
}

/* Loads the table, initialises the driver, reads what it is. */
static cj_status start_driver(cj_driver *drv, cji_source source)
{
    int lacks = cji_cu_load(&drv->cu, drv->missing, source);
    if (drv->missing[CJI_CU_ID_cuInit] && drv->missing[CJI_CU_ID_cuDriverGetVersion])
        return cji_fail(drv, CJ_ENODRIVER, "cj_driver_open", "%s is no CUDA driver: it has no cuInit", called(drv));
    if (lacks >= 0) {
        const cji_cu_row *row = &cji_cu_rows[lacks];
        return cji_fail(drv, CJ_ENODRIVER, "cj_driver_open", "%s has no %s (needs driver %d or newer)", called(drv),
                        row->name, cji_cu_driver_branch(row->version > 11040 ? row->version : 11040));
    }
    const char *cu_call = "cuInit";
    CUresult r = drv->cu.cuInit(0);
    if (r == CUDA_SUCCESS) r = drv->cu.cuDriverGetVersion(&drv->version), cu_call = "cuDriverGetVersion";
    if (r == CUDA_SUCCESS) r = drv->cu.cuDeviceGetCount(&drv->device_count), cu_call = "cuDeviceGetCount";
    if (r != CUDA_SUCCESS) return fail_start(drv, r, cu_call);
    drv->ptx_version = ptx_version_of(drv->version);
    if (!drv->interposer) cji_cu_load_by_value(&drv->by_value, source);
    return CJ_OK;
}

static cj_driver *new_driver(void) { return cji_obj_new(sizeof(cj_driver), CJI_TAG_DRIVER, 0, "cj_driver_open"); }

cj_driver *cji_driver_start(cji_source source, struct cji_interposer *interposer,
                            cj_driver *(*end)(struct cji_interposer *interposer), const char *path)
{
    cj_driver *drv = new_driver();
    if (cji_obj_failed(drv)) {
        if (interposer) cji_obj_release(end(interposer)); /* not the last reference, which is the caller's */
        return drv;
    }
    drv->kind = CJI_DRIVER_CUSTOM;
    drv->interposer = interposer;
    drv->interposer_end = end;
    snprintf(drv->path, sizeof drv->path, "%s", path);
    if (start_driver(drv, source) != CJ_OK) {
        cj_error e;
        cji_err_get(drv, &e);
        tell(drv, "%s", e.message);
        cji_obj_set_failed(drv);
    } else {
        tell(drv, "%s: CUDA %d.%d, %d device%s", called(drv), drv->version / 1000, drv->version % 1000 / 10,
             drv->device_count, drv->device_count == 1 ? "" : "s");
    }
    return drv;
}

/* -- Libraries ----------------------------------------------------------------------------------------------------- */

/* The driver has addresses of this code: functions of streams that it will call, the CPU device's log.  Threads of the
 * library run it.  So it stays mapped though a plugin that it is linked into is closed.  libcujit.so is linked so that
 * it does; other C libraries than glibc unmap nothing. */
static void stay_mapped(void)
{
#ifdef __GLIBC__
    static const char here;
    static atomic_bool stays;
    struct link_map *map = NULL;
    Dl_info info;
    if (atomic_exchange(&stays, true) || cji_static_program()) return;
    if (dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) && map && *map->l_name) /* "": the program itself */
        dlopen(map->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

enum found { FOUND_NONE, FOUND_BROKEN, FOUND_OPEN };

/* What the CPU device has and no other driver: its account of faults, checks of bounds within an allocation, contexts
 * that end although they are lost or retained. */
static void find_checks(cj_driver *drv, void *fault, void *suballoc, void *reset)
{
    memcpy(&drv->fault, &fault, sizeof fault);
    memcpy(&drv->suballoc, &suballoc, sizeof suballoc);
    memcpy(&drv->reset, &reset, sizeof reset);
}

/* What became of a try: FOUND_OPEN with *drv the driver (retained or new); else *drv holds the failure. */
static enum found open_library(cj_driver **out, const char *file, int kind)
{
    cj_driver *drv = *out;
    dlerror();
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        const char *text = dlerror();
        text = text ? text : "cannot be loaded";
        bool absent = strncmp(text, file, strlen(file)) == 0 &&
                      (strstr(text, "No such file or directory") || strstr(text, "Not a directory"));
        if (absent) {
            tell(drv, "%s: not found", file);
            return FOUND_NONE;
        }
        tell(drv, "%s", text);
        cji_fail(drv, CJ_ENODRIVER, "cj_driver_open", "%s cannot be loaded: %s", file, text);
        return FOUND_BROKEN;
    }
    cj_driver *same = find_opened(lib);
    if (same) {
        cji_obj_delete(drv, sizeof *drv);
        *out = same;
        return FOUND_OPEN;
    }
    drv->kind = kind;
    snprintf(drv->path, sizeof drv->path, "%s", file);
    if (kind != CJI_DRIVER_CUDA && !cji_sim_setup(drv, lib, kind == CJI_DRIVER_SIM)) {
        cj_error e;
        cji_err_get(drv, &e);
        tell(drv, "%s", e.message);
        return FOUND_BROKEN;
    }
    cji_library l;
    if (start_driver(drv, cji_library_source(&l, lib)) != CJ_OK) {
        cj_error e;
        cji_err_get(drv, &e);
        tell(drv, "%s", e.message);
        return FOUND_BROKEN;
    }
    find_checks(drv, dlsym(lib, "cujit_sim_fault"), dlsym(lib, "cujit_sim_suballoc"), dlsym(lib, "cujit_sim_reset"));
    tell(drv, "%s: CUDA %d.%d, %d device%s", file, drv->version / 1000, drv->version % 1000 / 10, drv->device_count,
         drv->device_count == 1 ? "" : "s");
    cji_image_cache_identify(drv);
    char why[sizeof drv->why];
    snprintf(why, sizeof why, "%s", drv->why);
    *out = drv = cji_rooms_driver_opened(drv);
    if (((cji_obj *)drv)->flags & CJI_OBJ_IMMORTAL) return FOUND_BROKEN;
    snprintf(drv->why, sizeof drv->why, "%s", why);
    if (cji_obj_failed(drv)) {
        cj_error e;
        cji_err_get(drv, &e);
        tell(drv, "%s", e.message);
        return FOUND_BROKEN;
    }
    drv->lib = lib;
    drv->next = cji_process.drivers;
    cji_process.drivers = drv;
    return FOUND_OPEN;
}

bool cji_sim_setup(cj_driver *drv, void *lib, bool must)
{
    typedef cj_status (*setup_fn)(uint32_t, const char *, cj_realloc_fn, void *, cj_log_fn, void *);
    typedef const char *(*complaint_fn)(void);
    setup_fn setup;
    complaint_fn complaint;
    void *entry = dlsym(lib, "cujit_sim_setup"), *why = dlsym(lib, "cujit_sim_complaint");
    if (!entry || !why) {
        if (!must) return true;
        cji_fail(drv, CJ_ENODRIVER, "cj_driver_open", "%s is not the CPU device of cujit: it has no cujit_sim_setup",
                 drv->path);
        return false;
    }
    memcpy(&setup, &entry, sizeof setup);
    memcpy(&complaint, &why, sizeof complaint);
    drv->complaint = complaint;
    drv->kind = CJI_DRIVER_SIM;
    char build[64];
    cj_realloc_fn fn;
    void *user;
    cji_get_hook(&fn, &user);
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    cj_status status = setup(CUJIT_SIM_ABI, build, fn, user, cji_log_line, NULL);
    if (status == CJ_OK) return true;
    const char *text = complaint();
    cji_fail(drv, CJ_ENODRIVER, "cj_driver_open", "%s cannot be used: %s", drv->path,
             *text ? text : cj_status_text(status));
    return false;
}

/* libcuda: the first file that there is decides. */
static enum found try_cuda(cj_driver **drv)
{
    static const char *const files[] = {
        "libcuda.so.1",
        "libcuda.so",
        "/usr/lib/wsl/lib/libcuda.so.1",       /* Windows' driver */
        "/usr/local/cuda/compat/libcuda.so.1", /* the package cuda-compat: a newer driver on an older kernel module */
    };
    const char *own = cji_env_get(CJI_ENV_LIBCUDA);
    if (own) return open_library(drv, own, CJI_DRIVER_CUDA);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        enum found found = open_library(drv, files[i], CJI_DRIVER_CUDA);
        if (found != FOUND_NONE) return found;
    }
    return FOUND_NONE;
}

/* The folder of the file that this code is in, with a '/' behind it; false where it is not known. */
static bool own_folder(char *out, size_t size)
{
    Dl_info info;
    static const char here;
    if (!dladdr(&here, &info) || !info.dli_fname) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    if (!slash || (size_t)(slash - info.dli_fname) + 2 > size) return false;
    snprintf(out, size, "%.*s", (int)(slash - info.dli_fname) + 1, info.dli_fname);
    return true;
}

static enum found try_sim(cj_driver **drv)
{
    const char *own = cji_env_get(CJI_ENV_SIM);
    if (own) return open_library(drv, own, CJI_DRIVER_SIM);
    char folder[PATH_MAX - 32], file[PATH_MAX];
    if (own_folder(folder, sizeof folder)) {
        snprintf(file, sizeof file, "%scujit/libcujit-sim.so", folder);
        enum found found = open_library(drv, file, CJI_DRIVER_SIM);
        if (found != FOUND_NONE) return found;
    }
    return open_library(drv, CJI_PKGLIBDIR "/libcujit-sim.so", CJI_DRIVER_SIM);
}

static bool no_device(const cj_driver *drv, enum found found)
{
    cj_error e;
    if (found == FOUND_OPEN) return drv->device_count == 0;
    cji_err_get(drv, &e);
    return found == FOUND_BROKEN && e.status == CJ_ENODEVICE;
}

/* What was tried, in one line. */
static void tried_line(const cj_driver *drv, char *out, size_t size)
{
    size_t at = 0;
    for (const char *p = drv->why; *p && at + 3 < size; p++) {
        if (*p == '\n') out[at++] = ';';
        out[at++] = *p == '\n' ? ' ' : *p;
    }
    out[at] = 0;
}

/* Forgets a library that has no device, for another to be tried; what was found stays told. */
static cj_driver *try_again(cj_driver *drv)
{
    cj_driver *fresh = new_driver();
    if (!cji_obj_failed(fresh)) snprintf(fresh->why, sizeof fresh->why, "%s", drv->why);
    return fresh;
}

static enum found try_auto(cj_driver **drv)
{
    enum found found = try_cuda(drv);
    if (found != FOUND_NONE && !no_device(*drv, found)) return found;
    cj_driver *empty = *drv, *fresh = try_again(empty);
    bool listed = found == FOUND_OPEN;
    *drv = fresh;
    enum found sim = cji_obj_failed(fresh) ? FOUND_BROKEN : try_sim(drv);
    char tried[400];
    tried_line(empty, tried, sizeof tried);
    if (sim == FOUND_OPEN)
        cji_log(CJ_LOG_INFO, "no GPU (%s): using the CPU device, %s", listed ? "the driver reports no device" : tried,
                (*drv)->path);
    cji_driver_drop_locked(empty);
    return sim;
}

cj_driver *cj_driver_open(const char *which)
{
    CJI_NO_CANCEL;
    const char *wanted = cji_env_get(CJI_ENV_DRIVER);
    if (!which) which = wanted ? wanted : "auto";
    cj_driver *drv = new_driver();
    if (cji_obj_failed(drv)) return drv;
    if (cji_static_program()) {
        cji_fail(
            drv, CJ_ENOTSUP, "cj_driver_open",
            "a program that is linked with -static cannot load a driver: link without -static (libcujit.a may stay), "
            "or hand the CPU device "
            "of libcujit-sim.a to cj_driver_open_resolver");
        cji_obj_set_failed(drv);
        return drv;
    }
    enum found found = FOUND_BROKEN;
    stay_mapped();
    cji_opened_lock();
    if (strcmp(which, "auto") == 0) found = try_auto(&drv);
    else if (strcmp(which, "cuda") == 0) found = try_cuda(&drv);
    else if (strcmp(which, "sim") == 0) found = try_sim(&drv);
    else if (strchr(which, '/')) found = open_library(&drv, which, CJI_DRIVER_CUSTOM);
    else
        cji_fail(drv, CJ_EINVAL, "cj_driver_open",
                 "no driver is called \"%s\": cuda, sim, auto, or a file name with a '/'", cji_short(which));
    if (found == FOUND_OPEN || ((cji_obj *)drv)->flags & CJI_OBJ_IMMORTAL) {
        cji_opened_unlock();
        return drv;
    }
    if (found == FOUND_NONE) {
        char tried[400];
        tried_line(drv, tried, sizeof tried);
        bool sim = strcmp(which, "sim") == 0;
        cji_fail(drv, CJ_ENODRIVER, "cj_driver_open", "%s (%s)%s",
                 sim ? "the CPU device of cujit is not there" : "there is no CUDA driver", tried,
                 sim                          ? "; CUJIT_SIM may name its file"
                 : strcmp(which, "auto") == 0 ? "; CUJIT_SIM may name the file of the CPU device"
                                              : "");
    }
    cji_obj_set_failed(drv);
    cji_opened_unlock();
    return drv;
}

static void *custom_get(void *user, const cji_cu_row *row)
{
    const struct { cj_symbol_fn get; void *user; } *c = user;
    return c->get(c->user, row->export_name);
}

cj_driver *cj_driver_open_resolver(cj_symbol_fn get_symbol, void *user)
{
    CJI_NO_CANCEL;
    struct { cj_symbol_fn get; void *user; } c = { get_symbol, user };
    stay_mapped();
    if (get_symbol) {
        cj_driver *opened = cji_driver_start((cji_source){ custom_get, &c }, NULL, NULL, "");
        if (cji_obj_failed(opened)) return opened;
        find_checks(opened, get_symbol(user, "cujit_sim_fault"), get_symbol(user, "cujit_sim_suballoc"),
                    get_symbol(user, "cujit_sim_reset"));
        cji_image_cache_identify(opened);
        cji_opened_lock();
        opened = cji_rooms_driver_opened(opened);
        cji_opened_unlock();
        return opened;
    }
    cj_driver *drv = new_driver();
    if (cji_obj_failed(drv)) return drv;
    cji_fail(drv, CJ_EINVAL, "cj_driver_open_resolver", "get_symbol is NULL");
    cji_obj_set_failed(drv);
    return drv;
}

void cj_driver_close(cj_driver *drv)
{
    if (cji_check_free(drv, CJI_TAG_DRIVER, "cj_driver_close")) cji_driver_drop(drv);
}

/* -- What a driver is ---------------------------------------------------------------------------------------------- */

const char *cj_driver_kind(const cj_driver *drv)
{
    static const char *const names[] = { "failed", "cuda", "sim", "custom" };
    return names[cji_readable(drv, CJI_TAG_DRIVER, false) ? drv->kind : 0];
}

void *cj_driver_raw(const cj_driver *drv) { return cji_readable(drv, CJI_TAG_DRIVER, false) ? drv->lib : NULL; }

void *cj_driver_symbol(const cj_driver *drv, const char *symbol)
{
    if (!cji_readable(drv, CJI_TAG_DRIVER, false) || !symbol) return NULL;
    int row = cji_cu_find_export(symbol);
    if (row >= 0) return drv->missing[row] ? NULL : cji_cu_get(&drv->cu, row);
    return drv->lib ? dlsym(drv->lib, symbol) : NULL;
}

const char *cj_driver_path(const cj_driver *drv) { return cji_readable(drv, CJI_TAG_DRIVER, false) ? drv->path : ""; }
int cj_driver_version(const cj_driver *drv) { return cji_readable(drv, CJI_TAG_DRIVER, false) ? drv->version : 0; }
int cj_driver_ptx_version(const cj_driver *drv)
{
    return cji_readable(drv, CJI_TAG_DRIVER, false) ? drv->ptx_version : 0;
}
const char *cj_driver_why(const cj_driver *drv)
{
    return cji_readable(drv, CJI_TAG_DRIVER, true) ? drv->why : "out of memory";
}
int cj_device_count(const cj_driver *drv) { return cji_readable(drv, CJI_TAG_DRIVER, false) ? drv->device_count : 0; }
