/* Fat binaries, as nvcc and fatbinary write them: a header, then entries, each with PTX or machine code of one target,
 * often compressed. The CPU device takes the PTX of the highest target that it fits. nvcc 13's layout, little-endian:
 *
 *   file:  u32 magic, u16 version, u16 bytes of this header, u64 bytes of the entries
 *   entry: u16 kind, u16 version, u32 bytes of this header, u64 bytes of the contents, u32 bytes of them that count
 *          when they are compressed, u32 offset of options, u16 minor, u16 major, u32 target (90), u32 offset and u32
 *          bytes of a name, u64 flags, u64 0, u64 bytes when unpacked
 *
 * A program that nvcc linked has a wrapper in front, which points to the file. */
#include <stdio.h>
#include <string.h>

#include "sim/module/sim_module.h"
#include "sim/module/sim_unpack.h"

enum { FATBIN_HEAD = 16, FATBIN_ENTRY = 64, FATBIN_PTX = 1, FATBIN_CUBIN = 2 };
#define FATBIN_MAGIC 0xba55ed50u
#define FATBIN_WRAPPER 0x466243b1u
#define FATBIN_LZ4 UINT64_C(0x2000)
#define FATBIN_ZSTD UINT64_C(0x8000)
#define FATBIN_MOST (UINT64_C(1) << 31)   /* bytes of an unpacked text: more is damage */
#define FATBIN_ALL (UINT64_C(1) << 40)    /* bytes of all entries: more is damage */

typedef struct fatbin_entry {
    const unsigned char *at;        /* the contents */
    uint64_t bytes, flags, unpacked;
    uint32_t kind, packed, target;
} fatbin_entry;

typedef struct fatbin_walk {
    const unsigned char *p, *end;
    char seen[160];                 /* "sm_90, sm_100": machine code, for the sentence */
} fatbin_walk;

static uint64_t fatbin_number(const unsigned char *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* Where the entries are; `bytes` 0: unknown, and the header says it. */
static bool fatbin_open(const unsigned char *p, size_t bytes, fatbin_walk *w)
{
    w->seen[0] = 0;
    if (!bytes && fatbin_number(p, 4) == FATBIN_WRAPPER) {
        uint64_t at = fatbin_number(p + 8, 8);
        p = (const unsigned char *)(uintptr_t)at;
        if (!p) return false;
    }
    if (bytes && bytes < FATBIN_HEAD) return false;
    if (fatbin_number(p, 4) != FATBIN_MAGIC) return false;
    uint64_t head = fatbin_number(p + 6, 2), all = fatbin_number(p + 8, 8);
    if (head < FATBIN_HEAD || all > FATBIN_ALL || (bytes && (head > bytes || all > bytes - head))) return false;
    w->p = p + head;
    w->end = w->p + all;
    return true;
}

/* The next entry; false: there is none, or what is there is damaged (*good). */
static bool fatbin_next(fatbin_walk *w, fatbin_entry *e, bool *good)
{
    uint64_t left = (uint64_t)(w->end - w->p);
    *good = true;
    if (!left) return false;
    *good = false;
    if (left < FATBIN_ENTRY) return false;
    uint64_t head = fatbin_number(w->p + 4, 4);
    *e = (fatbin_entry){ .kind = (uint32_t)fatbin_number(w->p, 2),
                         .bytes = fatbin_number(w->p + 8, 8),
                         .packed = (uint32_t)fatbin_number(w->p + 16, 4),
                         .target = (uint32_t)fatbin_number(w->p + 28, 4),
                         .flags = fatbin_number(w->p + 40, 8),
                         .unpacked = fatbin_number(w->p + 56, 8) };
    if (head < FATBIN_ENTRY || head > left || e->bytes > left - head || e->packed > e->bytes) return false;
    e->at = w->p + head;
    w->p = e->at + e->bytes;
    return *good = true;
}

static void fatbin_note(fatbin_walk *w, uint32_t target)
{
    size_t n = strlen(w->seen);
    if (n + 16 < sizeof w->seen) snprintf(w->seen + n, sizeof w->seen - n, "%ssm_%u", n ? ", " : "", target);
}

/* The text of an entry, with a NUL behind it: *copy, of *room bytes. */
static CUresult fatbin_text(const fatbin_entry *e, char **copy, size_t *room, size_t *length)
{
    bool packed = e->flags & (FATBIN_LZ4 | FATBIN_ZSTD), no_memory = false, good = true;
    uint64_t bytes = packed ? e->unpacked : e->bytes;
    if (bytes > FATBIN_MOST) return CUDA_ERROR_INVALID_IMAGE;
    *room = (size_t)bytes + 1;
    *copy = cji_alloc(*room);
    if (!*copy) return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned char *to = (unsigned char *)*copy;
    if (e->flags & FATBIN_ZSTD) good = cji_sim_unpack_zstd(e->at, e->packed, to, (size_t)bytes, &no_memory);
    else if (e->flags & FATBIN_LZ4) good = cji_sim_unpack_lz4(e->at, e->packed, to, (size_t)bytes);
    else memcpy(to, e->at, (size_t)bytes);
    if (!good) {
        cji_free(*copy, *room);
        *copy = NULL;
        return no_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
    }
    (*copy)[bytes] = 0;
    *length = strlen(*copy);
    return CUDA_SUCCESS;
}

/* Keeps the text of `e` in `out` where the device fits its target. */
static CUresult fatbin_try(const fatbin_entry *e, sim_image *out, uint32_t *best, cji_text *log)
{
    char *copy;
    size_t room, length;
    CUresult r = fatbin_text(e, &copy, &room, &length);
    if (r == CUDA_ERROR_INVALID_IMAGE)
        cji_text_printf(log, "the fat binary is damaged: its PTX for sm_%u cannot be unpacked\n", e->target);
    if (r) return r;
    cji_exec_text text = { "ptx of the fat binary", copy, length, 0 };
    cji_text why = { 0 };
    bool fits = !cji_sim_check_heads(&text, 1, &why);
    if (!fits && !*best) cji_text_puts(log, cji_text_str(&why));
    cji_text_free(&why);
    if (!fits || (out->n && e->target < *best)) {
        cji_free(copy, room);
        return CUDA_SUCCESS;
    }
    cji_exec_text *list = out->n ? out->text : cji_zalloc(sizeof *list);
    if (!list) {
        cji_free(copy, room);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    cji_free(out->copy, out->copy_bytes);
    *list = text;
    *out = (sim_image){ .text = list, .n = 1, .copy = copy, .copy_bytes = room };
    *best = e->target;
    return CUDA_SUCCESS;
}

bool cji_sim_is_fatbin(const unsigned char *p, size_t bytes)
{
    if (bytes && bytes < 4) return false;
    for (unsigned i = 0; i < 3; i++)
        if (!p[i]) return false;    /* a text ends there */
    uint64_t magic = fatbin_number(p, 4);
    return magic == FATBIN_MAGIC || (magic == FATBIN_WRAPPER && !bytes);
}

CUresult cji_sim_fatbin_read(const unsigned char *p, size_t bytes, sim_image *out, cji_text *log)
{
    fatbin_walk w;
    fatbin_entry e;
    uint32_t best = 0, texts = 0;
    bool good = fatbin_open(p, bytes, &w);
    CUresult r = CUDA_SUCCESS;
    while (!r && good && fatbin_next(&w, &e, &good)) {
        if (e.kind == FATBIN_CUBIN) fatbin_note(&w, e.target);
        if (e.kind != FATBIN_PTX) continue;
        texts++;
        r = fatbin_try(&e, out, &best, log);
    }
    if (!r && !good) {
        cji_text_puts(log, "the fat binary is damaged: its sizes do not fit\n");
        r = CUDA_ERROR_INVALID_IMAGE;
    }
    if (!r && out->n) {
        cji_text_free(log);         /* of texts for other targets */
        return CUDA_SUCCESS;
    }
    if (!r && !texts)
        cji_text_printf(log,
                        "the fat binary holds machine code%s%s and no PTX: the CPU device runs PTX (nvcc writes it "
                        "with -gencode arch=compute_90,code=compute_90)\n",
                        *w.seen ? " for " : "", w.seen);
    cji_sim_image_free(out);
    return r ? r : CUDA_ERROR_NO_BINARY_FOR_GPU;
}
