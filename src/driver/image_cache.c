/* Images from the kernel cache: of the device in memory, and of the user on disk below that.  The key of an image is a
 * hash of everything that the compiler's answer depends on: the module, how it is printed and compiled, the device's
 * target, and the builds of driver, linker and this library. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/first.h"
#include "driver/cache/disk_cache.h"
#include "driver/cache/memo.h"
#include "driver/image.h"
#include "driver/image_cache.h"
#include "driver/symbols.h"

/* A resolver may have the compiler, or what loads its code, from another library than cuInit.  False: from none. */
static bool put_other_builds(const cj_driver *drv, const void *start, cji_hasher *h)
{
    static const int rows[] = { CJI_CU_ID_cuLinkCreate, CJI_CU_ID_cuLinkAddData, CJI_CU_ID_cuLinkComplete,
                                CJI_CU_ID_cuModuleLoadData };
    Dl_info first, other;
    if (!dladdr(start, &first)) return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const void *address = cji_cu_get(&drv->cu, rows[i]);
        if (drv->missing[rows[i]] || (dladdr(address, &other) && other.dli_fbase == first.dli_fbase)) continue;
        if (!cji_build_identity(address, h)) return false;
    }
    return true;
}

void cji_image_cache_identify(cj_driver *drv)
{
    cji_hasher h;
    void *start = cji_cu_get(&drv->cu, CJI_CU_ID_cuInit);
    cji_hasher_begin(&h);
    cji_hasher_u64(&h, CJI_DISK_FORMAT);
    cji_hasher_list(&h, cj_version(), strlen(cj_version()), 1);
    cji_hasher_u64(&h, cj_table_hash());
    cji_build_own(&h);
    cji_hasher_u64(&h, (uint64_t)drv->kind << 32 | (uint32_t)drv->version);
    drv->cached = cji_build_identity(start, &h) && put_other_builds(drv, start, &h);
    /* libcuda loads its compiler with the first PTX, from its own folder; it is of the same package. */
    cji_build_neighbour(start, "libnvidia-ptxjitcompiler.so.1", &h);
    drv->build = cji_hasher_end(&h);
}

/* -- Keys ---------------------------------------------------------------------------------------------------------- */

/* What is hashed: a module and a text that have the same hash are two images. */
enum { KEY_MODULE = 1, KEY_TEXT = 2 };

static CJI_FIRST cji_hash128 image_key(const cj_device *dev, uint64_t kind, cji_hash128 source,
                                       const cj_compile_opts *o)
{
    struct { uint64_t option[5]; cji_hash128 source, build; char sm[sizeof dev->sm]; } key = {
        .option = { kind, (uint64_t)(int64_t)o->opt_level, (uint64_t)o->max_registers,
                    (uint64_t)o->line_info << 1 | (uint64_t)o->debug, (uint64_t)(int64_t)dev->target },
        .source = source,
        .build = dev->drv->build,
    };
    _Static_assert(sizeof key == 5 * 8 + 2 * sizeof source + sizeof dev->sm, "the key has no bytes that nothing sets");
    memcpy(key.sm, dev->sm, strnlen(dev->sm, sizeof key.sm));
    return cji_hash_bytes(&key, sizeof key);
}

CJI_FIRST cji_image_key cji_image_key_of(const cj_device *dev, const cj_ptx *m, unsigned flags,
                                         const cj_compile_opts *o)
{
    cji_image_key key = { .on = dev->drv->cached && cji_disk_on() };
    if (key.on) key.hash = image_key(dev, KEY_MODULE, cji_ptx_digest(m, flags), o);
    return key;
}

cji_image_key cji_image_key_of_text(const cj_device *dev, const char *text, size_t bytes, const cj_compile_opts *o)
{
    cji_image_key key = { .on = dev->drv->cached && cji_disk_on() };
    if (key.on) key.hash = image_key(dev, KEY_TEXT, cji_hash_bytes(text, bytes), o);
    return key;
}

/* -- Images in memory ---------------------------------------------------------------------------------------------- */

#define IMAGES_MOST (UINT64_C(64) << 20) /* bytes that a device's images take */

typedef struct cji_image_value {
    atomic_uint refs;
    atomic_bool use_due;  /* it was read ahead, and its first load is the use of its entry */
    cji_disk_found found; /* room NULL: it could not be compiled */
    char *log;            /* found.log, where that is not in the room */
} cji_image_value;

/* What is stored of a module that the compiler takes as a whole program only, in place of code: that it is one, so that
 * no other process links it in vain. */
static const char whole_mark[] = "w";
enum { WHOLE_MARK_BYTES = 1 };
static bool is_whole_mark(const cji_image_value *v) { return v->found.code_bytes == WHOLE_MARK_BYTES; }

static void retain_image(void *value)
{
    atomic_fetch_add_explicit(&((cji_image_value *)value)->refs, 1, memory_order_relaxed);
}

static void release_image(void *value)
{
    cji_image_value *v = value;
    if (atomic_fetch_sub(&v->refs, 1) != 1) return;
    cji_free(v->log, v->found.log_bytes);
    cji_disk_found_free(&v->found);
    cji_free(v, sizeof *v);
}

static bool good_image(const void *value) { return ((const cji_image_value *)value)->found.room != NULL; }
/* What it takes on the heap, with its key and what the allocator itself needs. */
static uint64_t image_weight(const void *value)
{
    enum { IMAGE_BESIDE = sizeof(cji_image_value) + 160 };
    const cji_image_value *v = value;
    const cji_entries *e = v->found.entries;
    return IMAGE_BESIDE + v->found.room_bytes + (v->log ? v->found.log_bytes : 0) +
           (e ? sizeof *e + cji_arena_bytes(&e->arena) : 0);
}
static const cji_memo_rules image_rules = { retain_image, release_image, good_image, image_weight };

/* The device's, made at first use; NULL without memory. */
static cji_memo *images_of(cj_device *dev)
{
    pthread_mutex_lock(&dev->modules_lock);
    if (!dev->images) dev->images = cji_memo_create(&image_rules, IMAGES_MOST);
    cji_memo *images = dev->images;
    pthread_mutex_unlock(&dev->modules_lock);
    return images;
}

void cji_image_release_data(cj_image *img)
{
    if (img->shared) release_image(img->shared);
    else cji_free(img->data, img->room);
    img->data = NULL;
}

/* The image becomes that of the value.  False without memory. */
static CJI_FIRST bool take_value(cj_image *img, cji_image_value *v)
{
    cji_text_put(&img->log, v->found.log, v->found.log_bytes);
    if (img->log.failed) {
        cji_text_free(&img->log);
        return false;
    }
    retain_image(v);
    img->shared = v;
    img->data = v->found.room;
    img->bytes = v->found.code_bytes;
    img->room = v->found.room_bytes;
    img->entries = cji_entries_retain(v->found.entries);
    return true;
}

/* -- On disk ------------------------------------------------------------------------------------------------------- */

/* What entries of the device have; behind the texts are zeros. */
static cji_disk_label label_of(const cj_device *dev)
{
    cji_disk_label label = { .device = "" };
    snprintf(label.device, sizeof label.device, "%s", dev->sm);
    snprintf(label.driver, sizeof label.driver, "%s %d.%d", cj_driver_kind(dev->drv), dev->drv->version / 1000,
             dev->drv->version % 1000 / 10);
    return label;
}

static void store_image(const cj_image *img, const cji_image_key *key)
{
    cji_disk_image image = { .code = img->text ? whole_mark : img->data,
                             .code_bytes = img->text ? WHOLE_MARK_BYTES : img->bytes,
                             .log = img->log.p,
                             .log_bytes = img->log.n,
                             .entries = img->entries,
                             .label = label_of(img->dev) };
    cji_disk_put(key->hash, &image);
}

/* -- What the program used lately ---------------------------------------------------------------------------------- */

/* Entries that are read ahead. */
typedef struct ahead_request {
    cj_device *dev;
    cji_disk_label label;  /* of what the device can use */
    size_t i;              /* which key of the list */
    size_t left;           /* bytes that may be read */
} ahead_request;

/* A value with the caller's reference; NULL where the entry is not there, too large, or another device's. */
static void *read_ahead(void *user)
{
    ahead_request *r = user;
    cji_disk_recent *recent = r->dev->recent;
    const size_t most = r->left < CJI_DISK_RECENT_ENTRY ? r->left : CJI_DISK_RECENT_ENTRY;
    cji_image_value *v = cji_zalloc(sizeof *v);
    if (!v) return NULL;
    atomic_init(&v->refs, 1);
    const cji_disk_result result = cji_disk_read_ahead(r->dev->ready, recent->listed.key[r->i], most, &v->found);
    if (result == CJI_DISK_MISS || result == CJI_DISK_BAD) recent->gone |= UINT32_C(1) << r->i;
    if (result == CJI_DISK_HIT) atomic_init(&v->use_due, v->found.use_due);
    if (result == CJI_DISK_HIT) r->left -= sizeof(cji_disk_head) + v->found.room_bytes;
    if (result == CJI_DISK_HIT && !strcmp(v->found.label.device, r->label.device) &&
        !strcmp(v->found.label.driver, r->label.driver))
        return v;
    release_image(v);
    return NULL;
}

void cji_image_cache_prepare(cj_device *dev)
{
    if (!dev->drv->cached || !cji_disk_on()) return;
    dev->ready = cji_disk_prepare();
    dev->recent = cji_disk_recent_begin(NULL, dev->drv->build, dev->ready);
    cji_memo *images = dev->ready ? images_of(dev) : NULL;
    ahead_request r = { .dev = dev, .label = label_of(dev), .left = CJI_DISK_RECENT_BYTES };
    for (; images && dev->recent && r.i < dev->recent->listed.n; r.i++) {
        const cji_hash128 key = dev->recent->listed.key[r.i];
        cji_memo_how how;
        void *v = cji_memo_get(images, &key, sizeof key, read_ahead, &r, &how);
        if (v) release_image(v);
    }
}

void cji_image_cache_list(cj_device *dev)
{
    cji_disk_recent *fresh = cji_zalloc(sizeof *fresh), *done = NULL;
    pthread_mutex_lock(&dev->modules_lock);
    if (fresh && dev->recent && dev->recent->used.n) {
        done = dev->recent;
        memcpy(fresh->name, done->name, sizeof fresh->name);
        fresh->fork_gen = done->fork_gen;
        dev->recent = fresh;
        fresh = NULL;
    }
    pthread_mutex_unlock(&dev->modules_lock);
    cji_free(fresh, sizeof *fresh);
    cji_disk_recent_end(done);
}

void cji_image_cache_unprepare(cj_device *dev)
{
    cji_disk_recent_end(dev->recent);
    cji_disk_unprepare(dev->ready);
}

/* Of a program that leaves without closing its device, too. */
static CJI_FIRST void note_first_load(cj_device *dev, cji_image_value *v, cji_hash128 key)
{
    if (atomic_load_explicit(&v->use_due, memory_order_relaxed) && atomic_exchange(&v->use_due, false))
        cji_disk_note_ready(dev->ready, key);
}

static CJI_FIRST void note_image(cj_device *dev, cji_hash128 key)
{
    pthread_mutex_lock(&dev->modules_lock);
    if (dev->recent) cji_disk_keys_use(&dev->recent->used, key);
    pthread_mutex_unlock(&dev->modules_lock);
}

/* -- Getting ------------------------------------------------------------------------------------------------------- */

/* What is under way. */
typedef struct image_request {
    cj_image *img;
    const cji_image_key *key;
    cji_image_compiler compile;
    void *user;
    bool built;        /* by this request, with this status */
    cj_status status;
} image_request;

/* The code of `img`, which was compiled, becomes the value's, with a copy of its log.  Not without memory. */
static void give_data(cji_image_value *v, cj_image *img)
{
    const size_t n = img->log.n;
    if (n && !(v->log = cji_alloc(n))) return;
    if (n) memcpy(v->log, img->log.p, n);
    v->found = (cji_disk_found){ .room = img->data,
                                 .room_bytes = img->room,
                                 .code_bytes = img->bytes,
                                 .log = v->log,
                                 .log_bytes = n,
                                 .entries = cji_entries_retain(img->entries) };
    retain_image(v);
    img->shared = v;
}

static void give_mark(cji_image_value *v)
{
    unsigned char *room = cji_alloc(WHOLE_MARK_BYTES);
    if (!room) return;
    memcpy(room, whole_mark, WHOLE_MARK_BYTES);
    v->found = (cji_disk_found){ .room = room, .room_bytes = WHOLE_MARK_BYTES, .code_bytes = WHOLE_MARK_BYTES };
}

/* Whether there is something to be stored. */
static bool has_image(const cj_image *img) { return !img->text || img->whole; }

static cj_status compile_whole(const image_request *r)
{
    r->img->whole = true;
    return r->compile(r->img, r->user);
}

/* A value with the caller's reference; NULL without memory for one, or where nothing was compiled. */
static CJI_FIRST void *build_image(void *user)
{
    image_request *r = user;
    cji_image_value *v = cji_zalloc(sizeof *v);
    r->built = true;
    r->status = CJ_OK;
    if (v) atomic_init(&v->refs, 1);
    if (v && cji_disk_get(r->key->hash, r->img->dev->ready, &v->found)) {
        if (is_whole_mark(v)) {
            r->status = compile_whole(r);
            return v;
        }
        if (take_value(r->img, v)) return v;
        cji_disk_found_free(&v->found);
    }
    r->status = r->compile(r->img, r->user);
    if (r->status != CJ_OK || !has_image(r->img)) return v;
    store_image(r->img, r->key);
    if (v && r->img->text) give_mark(v);
    else if (v) give_data(v, r->img);
    return v;
}

CJI_FIRST cj_status cji_image_get(cj_image *img, const cji_image_key *key, cji_image_compiler compile, void *user)
{
    CJI_NO_CANCEL;
    image_request r = { .img = img, .key = key, .compile = compile, .user = user };
    cji_memo *images = key->on ? images_of(img->dev) : NULL;
    cji_memo_how how;
    if (!images) return compile(img, user);
    cji_image_value *v = cji_memo_get(images, &key->hash, sizeof key->hash, build_image, &r, &how);
    const bool there = !r.built && v && good_image(v), whole = there && is_whole_mark(v);
    const bool taken = there && !whole && take_value(img, v);
    if (taken || whole) note_first_load(img->dev, v, key->hash);
    if (v) release_image(v);
    /* What another thread could not compile fails here with this builder's lines. */
    const cj_status status = r.built ? r.status
                             : taken ? CJ_OK
                             : whole ? compile_whole(&r)
                                     : compile(img, user);
    if (status == CJ_OK && has_image(img)) note_image(img->dev, key->hash);
    return status;
}
