/* Images from the kernel cache.  The key of an image is a hash of everything that the compiler's answer depends on: the
 * module, how it is printed and compiled, the device's target, and the builds of driver, linker and this library. */
#include <stdio.h>
#include <string.h>

#include "driver/cache/disk_cache.h"
#include "driver/image.h"
#include "driver/image_cache.h"

void cji_image_cache_identify(cj_driver *drv)
{
    cji_hasher h;
    void *start;
    memcpy(&start, &drv->cu.cuInit, sizeof start);
    cji_hasher_begin(&h);
    cji_hasher_u64(&h, CJI_DISK_FORMAT);
    cji_hasher_list(&h, cj_version(), strlen(cj_version()), 1);
    cji_hasher_u64(&h, cj_table_hash());
    cji_build_own(&h);
    cji_hasher_u64(&h, (uint64_t)drv->kind << 32 | (uint32_t)drv->version);
    drv->cached = cji_build_identity(start, &h);
    /* libcuda loads its compiler with the first PTX, from its own folder; it is of the same package. */
    cji_build_neighbour(start, "libnvidia-ptxjitcompiler.so.1", &h);
    drv->build = cji_hasher_end(&h);
}

/* -- Keys ---------------------------------------------------------------------------------------------------------- */

/* What is hashed: a module and a text that have the same hash are two images. */
enum { KEY_MODULE = 1, KEY_TEXT = 2 };

static cji_hash128 image_key(const cj_device *dev, uint64_t kind, cji_hash128 source, const cj_compile_opts *o)
{
    cji_hasher h;
    char sm[sizeof dev->sm] = { 0 };
    snprintf(sm, sizeof sm, "%s", dev->sm);
    const uint64_t options[] = { kind, (uint64_t)(int64_t)o->opt_level, (uint64_t)o->max_registers,
                                 (uint64_t)o->line_info << 1 | (uint64_t)o->debug, (uint64_t)(int64_t)dev->target };
    cji_hasher_begin(&h);
    cji_hasher_put(&h, options, sizeof options);
    cji_hasher_put(&h, &source, sizeof source);
    cji_hasher_put(&h, &dev->drv->build, sizeof dev->drv->build);
    cji_hasher_put(&h, sm, sizeof sm);
    return cji_hasher_end(&h);
}

cji_image_key cji_image_key_of(const cj_device *dev, const cj_ptx *m, unsigned flags, const cj_compile_opts *o)
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

/* -- Images -------------------------------------------------------------------------------------------------------- */

bool cji_image_recall(cj_image *img, const cji_image_key *key)
{
    cji_disk_found found;
    if (!key->on || !cji_disk_get(key->hash, &found)) return false;
    cji_text_put(&img->log, found.log, found.log_bytes);
    if (img->log.failed) {
        cji_text_free(&img->log);
        cji_disk_found_free(&found);
        return false;
    }
    img->data = found.room;
    img->bytes = found.code_bytes;
    img->room = found.room_bytes;
    img->entries = found.entries;
    return true;
}

void cji_image_store(const cj_image *img, const cji_image_key *key)
{
    if (!key->on) return;
    cji_disk_image image = { .code = img->data,
                             .code_bytes = img->bytes,
                             .log = img->log.p,
                             .log_bytes = img->log.n,
                             .entries = img->entries };
    snprintf(image.label.device, sizeof image.label.device, "%s", img->dev->sm);
    snprintf(image.label.driver, sizeof image.label.driver, "%s %d.%d", cj_driver_kind(img->dev->drv),
             img->dev->drv->version / 1000, img->dev->drv->version % 1000 / 10);
    cji_disk_put(key->hash, &image);
}
