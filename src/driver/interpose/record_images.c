/* Images in a recording: PTX, what a link of the recording made of it, what comes from elsewhere. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash128.h"
#include "base/lock.h"
#include "driver/image.h"
#include "driver/interpose/record_file.h"

enum { IMAGE_LOOK = 64, IMAGE_LOOKS = 8 };

/* nvcc's fat binaries lie behind this (fatbinary_section.h). */
typedef struct fat_wrapper { uint32_t magic, version; const void *data, *unused; } fat_wrapper;
enum { FAT_WRAPPER = 0x466243b1 };

uint64_t cji_rec_add_data(cji_recorder *rec, const void *bytes, size_t n)
{
    const uint64_t number = atomic_fetch_add(&rec->data, 1) + 1;
    cji_rec_file_add_host(rec->file, CJI_REC_DATA, &number, sizeof number, bytes, n);
    return number;
}

static bool is_text(const unsigned char *p)
{
    return p[0] == '\t' || p[0] == '\n' || p[0] == '\r' || (p[0] >= ' ' && p[0] < 0x7f) || !p[0];
}

/* How long an image is that is somewhere in memory; 0: it has no end that its head tells. */
static size_t image_length(const void *p, cji_rec_image *kind)
{
    static const unsigned char fatbin[4] = { 0x50, 0xed, 0x55, 0xba };
    const bool binary = memcmp(p, fatbin, 4) == 0;
    *kind = binary ? CJI_REC_FAT : is_text(p) ? CJI_REC_PTX : CJI_REC_FOREIGN;
    if (*kind == CJI_REC_PTX) return strlen(p) + 1;
    size_t n = binary ? 16 : IMAGE_LOOK;
    for (int i = 0; i < IMAGE_LOOKS; i++) {
        const uint64_t needs = cji_image_needs(p, n);
        if (needs <= n) return n;
        n = (size_t)needs;
    }
    return 0;
}

static uint64_t link_of(cji_recorder *rec, const void *p, size_t n)
{
    const cji_hash128 hash = cji_hash_bytes(p, n);
    uint64_t number = 0;
    cji_lock(&rec->lock, CJI_LOCK_RECORD);
    for (const cji_rec_link *l = rec->made; l && !number; l = l->next)
        if (l->bytes == n && l->hash[0] == hash.word[0] && l->hash[1] == hash.word[1]) number = l->number;
    cji_unlock(&rec->lock, CJI_LOCK_RECORD);
    return number;
}

void cji_rec_put_image(cji_rec_build *b, uint64_t pointer)
{
    const void *p = (const void *)(uintptr_t)pointer;
    fat_wrapper wrapper;
    cji_rec_image kind = CJI_REC_PTX;
    if (p) memcpy(&wrapper.magic, p, sizeof wrapper.magic);
    if (p && wrapper.magic == FAT_WRAPPER) {
        memcpy(&wrapper, p, sizeof wrapper);
        p = wrapper.data;
    }
    const size_t n = p ? image_length(p, &kind) : 0;
    if (!n) {
        b->unknown = "an image of a kind that recordings do not know";
        return;
    }
    const uint64_t made = kind == CJI_REC_PTX ? 0 : link_of(b->rec, p, n);
    if (made) cji_rec_put(b, CJI_REC_IMAGE, CJI_REC_LINKED, made, n, 0, NULL, 0);
    else cji_rec_put(b, CJI_REC_IMAGE, kind, cji_rec_add_data(b->rec, p, n), n, 0, NULL, 0);
}

/* What cuLinkComplete has made is known by its hash from now on. */
void cji_rec_linked(cji_rec_build *b)
{
    const uint64_t out = b->value[1], size = b->value[2];
    static const char zeros[8];
    if (!out || !size || b->result != CUDA_SUCCESS) {
        cji_rec_put(b, CJI_REC_VALUE, 0, 0, 0, 0, NULL, 0);
        return;
    }
    void *cubin;
    size_t n;
    memcpy(&cubin, (const void *)(uintptr_t)out, sizeof cubin);
    memcpy(&n, (const void *)(uintptr_t)size, sizeof n);
    cji_rec_link *l = cji_zalloc(sizeof *l);
    if (!l) {
        cji_rec_file_fail(b->rec->file, "no memory");
        return;
    }
    const cji_hash128 hash = cji_hash_bytes(cubin, n);
    *l = (cji_rec_link){ .hash = { hash.word[0], hash.word[1] }, .bytes = n,
                         .number = atomic_fetch_add(&b->rec->links, 1) + 1 };
    cji_lock(&b->rec->lock, CJI_LOCK_RECORD);
    l->next = b->rec->made;
    b->rec->made = l;
    cji_unlock(&b->rec->lock, CJI_LOCK_RECORD);
    const size_t at = cji_rec_put(b, CJI_REC_MEMORY, 0, 0, 0, 0, zeros, sizeof zeros);
    cji_rec_put_in(b, at, CJI_REC_LINK, 0, l->number, n, 0, NULL, 0);
}

/* -- Inputs of links that are files -------------------------------------------------------------------------------- */

void cji_rec_input_file(cji_rec_build *b)
{
    const char *path = (const char *)(uintptr_t)b->value[2];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *bytes = NULL;
    size_t n = 0, room = 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) bytes = cji_alloc(room = (size_t)st.st_size);
    while (bytes && n < room) {
        const ssize_t got = read(fd, bytes + n, room - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    if (fd >= 0) close(fd);
    if (!n) b->unknown = "the file that it links cannot be read";
    const uint64_t v[8] = { b->value[0], b->value[1], (uint64_t)(uintptr_t)bytes, n, (uint64_t)(uintptr_t)path,
                            b->value[3], b->value[4], b->value[5] };
    memcpy(b->value, v, sizeof v);
    b->id = CJI_CU_ID_cuLinkAddData;
    b->input = bytes;
    b->input_bytes = room;
}
