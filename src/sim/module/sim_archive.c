/* What nvcc leaves on disk for a device linker: host objects with fat binaries inside, and archives of them (nvcc -lib,
 * ar). A member of an archive is linked where it defines a name that the rest lacks, as any linker does. */
#include <stdio.h>
#include <string.h>

#include "sim/module/sim_module.h"

enum { AR_HEAD = 60, OBJ_HEAD = 64, OBJ_SECTION = 64, OBJ_NOBITS = 8, OBJ_CUDA = 190 };
static const char ar_magic[8] = "!<arch>\n", ar_thin[8] = "!<thin>\n";

static uint64_t obj_number(const unsigned char *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* ---- Host objects ------------------------------------------------------------------------------------------------ */

bool cji_sim_is_host_object(const unsigned char *p, size_t bytes)
{
    static const unsigned char elf[5] = { 0x7f, 'E', 'L', 'F', 2 /* 64 bits */ };
    return bytes >= OBJ_HEAD && !memcmp(p, elf, sizeof elf) && obj_number(p + 18, 2) != OBJ_CUDA;
}

/* Whether a section holds fat binaries: of code that is linked later, or of whole programs. */
static bool obj_holds_code(const char *name)
{
    return !strcmp(name, "__nv_relfatbin") || !strcmp(name, ".nv_fatbin");
}

/* Calls `found` for the fat binaries of a section, one behind the other. */
static CUresult obj_section(const unsigned char *p, uint64_t bytes, sim_part_fn found, void *user, cji_text *log)
{
    while (bytes >= 16) {
        if (!cji_sim_is_fatbin(p, (size_t)bytes)) {   /* padding */
            uint64_t step = 8 < bytes ? 8 : bytes;
            p += step;
            bytes -= step;
            continue;
        }
        uint64_t head = obj_number(p + 6, 2), all = obj_number(p + 8, 8);
        if (head > bytes || all > bytes - head) {
            cji_text_puts(log, "the object is damaged: a fat binary in it is cut\n");
            return CUDA_ERROR_INVALID_IMAGE;
        }
        CUresult r = found(user, p, (size_t)(head + all), log);
        if (r) return r;
        p += head + all;
        bytes -= head + all;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sim_object_read(const unsigned char *p, size_t bytes, sim_part_fn found, void *user, cji_text *log)
{
    static const char damaged[] = "the object is damaged: its tables do not fit its size\n";
    uint64_t at = obj_number(p + 40, 8), each = obj_number(p + 58, 2), count = obj_number(p + 60, 2),
             names = obj_number(p + 62, 2), sections = 0;
    if (each < OBJ_SECTION || at > bytes || each * count > bytes - at || names >= count) {
        cji_text_puts(log, damaged);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    const unsigned char *table = p + at, *name_row = table + names * each;
    uint64_t text_at = obj_number(name_row + 24, 8), text_bytes = obj_number(name_row + 32, 8);
    bool good = text_at <= bytes && text_bytes <= bytes - text_at && text_bytes && !p[text_at + text_bytes - 1];
    for (uint64_t i = 0; good && i < count; i++) {
        const unsigned char *row = table + i * each;
        uint64_t name = obj_number(row, 4), from = obj_number(row + 24, 8), size = obj_number(row + 32, 8);
        if (obj_number(row + 4, 4) == OBJ_NOBITS) continue;
        good = name < text_bytes && from <= bytes && size <= bytes - from;
        if (!good || !obj_holds_code((const char *)p + text_at + name)) continue;
        sections++;
        CUresult r = obj_section(p + from, size, found, user, log);
        if (r) return r;
    }
    if (!good) cji_text_puts(log, damaged);
    else if (!sections) cji_text_puts(log, "the object has no device code: nvcc writes it with -rdc=true\n");
    else return CUDA_SUCCESS;
    return good ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_IMAGE;
}

/* ---- Archives ---------------------------------------------------------------------------------------------------- */

bool cji_sim_is_archive(const unsigned char *p, size_t bytes)
{
    return bytes >= sizeof ar_magic && (!memcmp(p, ar_magic, sizeof ar_magic) || !memcmp(p, ar_thin, sizeof ar_thin));
}

/* A decimal number of at most `n` characters; false: there is none. */
static bool ar_number(const unsigned char *p, size_t n, uint64_t *out)
{
    size_t i = 0;
    for (*out = 0; i < n && p[i] >= '0' && p[i] <= '9'; i++) *out = *out * 10 + (uint64_t)(p[i] - '0');
    return i > 0;
}

/* Whether a member is a table of the archive itself: of symbols, or of long names. */
static bool ar_is_table(const unsigned char *name)
{
    return !memcmp(name, "/ ", 2) || !memcmp(name, "// ", 3) || !memcmp(name, "/SYM64/", 7) ||
           !memcmp(name, "__.SYMDEF", 9);
}

CUresult cji_sim_archive_read(const unsigned char *p, size_t bytes, sim_part_fn found, void *user, cji_text *log)
{
    if (!memcmp(p, ar_thin, sizeof ar_thin)) {
        cji_text_puts(log, "a thin archive holds no members, only their paths: make it without ar's option T\n");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    size_t at = sizeof ar_magic;
    while (at < bytes) {
        const unsigned char *head = p + at;
        uint64_t size = 0, skip = 0;
        bool good = bytes - at >= AR_HEAD && head[58] == '`' && head[59] == '\n' && ar_number(head + 48, 10, &size) &&
                    size <= bytes - at - AR_HEAD;
        if (good && !memcmp(head, "#1/", 3)) good = ar_number(head + 3, 13, &skip) && skip <= size; /* BSD: a name */
        if (!good) {
            cji_text_puts(log, "the archive is damaged: a member's header or size does not fit\n");
            return CUDA_ERROR_INVALID_IMAGE;
        }
        if (!ar_is_table(head) && size > skip) {
            CUresult r = found(user, head + AR_HEAD + skip, (size_t)(size - skip), log);
            if (r) return r;
        }
        at += AR_HEAD + (size_t)size;
        at += at & 1 && at < bytes;
    }
    return CUDA_SUCCESS;
}
