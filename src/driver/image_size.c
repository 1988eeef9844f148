/* How long an image must be. cuModuleLoadData gets no size and follows what the image says of itself, so an image that
 * was cut - a file that was not written to its end - would be read beyond its bytes. */
#include "driver/image.h"

#include <string.h>

#include "cuda/container.h"

enum { ELF_HEAD = 64, ELF_SECTION = 64, ELF_PROGRAM = 56, ELF_NOBITS = 8, FATBIN_HEAD = 16 };

/* The larger of *end and at + count * each; UINT64_MAX where that wraps. */
static void image_reaches(uint64_t *end, uint64_t at, uint64_t count, uint64_t each)
{
    uint64_t bytes, to;
    if (__builtin_mul_overflow(count, each, &bytes) || __builtin_add_overflow(at, bytes, &to)) to = UINT64_MAX;
    if (to > *end) *end = to;
}

/* A cubin: its tables, and every section that takes bytes of the file. */
static uint64_t image_elf_bytes(const unsigned char *p, size_t bytes)
{
    uint64_t programs, sections, end = ELF_HEAD, at, size;
    uint16_t program_size, program_count, section_size, section_count;
    uint32_t type;
    if (bytes < ELF_HEAD) return ELF_HEAD;
    memcpy(&programs, p + 32, 8);
    memcpy(&sections, p + 40, 8);
    memcpy(&program_size, p + 54, 2);
    memcpy(&program_count, p + 56, 2);
    memcpy(&section_size, p + 58, 2);
    memcpy(&section_count, p + 60, 2);
    image_reaches(&end, programs, program_count, program_size);
    image_reaches(&end, sections, section_count, section_size);
    if (end > bytes || section_size < ELF_SECTION) return end;
    for (uint32_t i = 0; i < section_count; i++) {
        const unsigned char *s = p + sections + (uint64_t)i * section_size;
        memcpy(&type, s + 4, 4);
        memcpy(&at, s + 24, 8);
        memcpy(&size, s + 32, 8);
        if (type != ELF_NOBITS) image_reaches(&end, at, 1, size);
    }
    return end;
}

uint64_t cji_image_needs(const void *data, size_t bytes)
{
    static const unsigned char elf[4] = { 0x7f, 'E', 'L', 'F' }, fatbin[4] = { 0x50, 0xed, 0x55, 0xba };
    const unsigned char *p = data;
    uint64_t end;
    if (bytes >= 4 && memcmp(p, elf, 4) == 0) return image_elf_bytes(p, bytes);
    if (bytes >= 4 && memcmp(p, fatbin, 4) == 0) {
        uint16_t head;
        if (bytes < FATBIN_HEAD) return FATBIN_HEAD;
        memcpy(&head, p + 6, 2);
        memcpy(&end, p + 8, 8);
        if (__builtin_add_overflow(end, (uint64_t)head, &end)) end = UINT64_MAX;
        return end;
    }
    if (bytes >= 16 && memcmp(p, CJI_CONTAINER_MAGIC, 16) == 0) {
        if (bytes < sizeof(cji_container)) return sizeof(cji_container);
        memcpy(&end, p + offsetof(cji_container, bytes), 8);
        return end;
    }
    return memchr(p, 0, bytes) ? 1 : (uint64_t)bytes + 1;   /* a text: its NUL */
}
