/* Arguments of a call that is written down: trees of pieces one behind the other. */
#include "driver/interpose/record_file.h"

size_t cji_rec_put(cji_rec_build *b, cji_rec_kind kind, unsigned about, uint64_t value, uint64_t room, size_t offset,
                   const void *bytes, size_t n)
{
    static const char zeros[8];
    const size_t at = b->out.n;
    const cji_rec_arg arg = { .kind = (uint8_t)kind, .about = (uint8_t)about, .offset = (uint32_t)offset, .bytes = n,
                              .value = value, .room = room };
    cji_text_put(&b->out, (const char *)&arg, sizeof arg);
    if (n) cji_text_put(&b->out, bytes, n);
    cji_text_put(&b->out, zeros, -n & 7);
    return at;
}

void cji_rec_child(cji_rec_build *b, size_t at)
{
    cji_rec_arg arg;
    if (b->out.failed) return;
    memcpy(&arg, b->out.p + at, sizeof arg);
    arg.children++;
    memcpy(b->out.p + at, &arg, sizeof arg);
}

size_t cji_rec_put_in(cji_rec_build *b, size_t parent, cji_rec_kind kind, unsigned about, uint64_t value,
                      uint64_t room, size_t offset, const void *bytes, size_t n)
{
    cji_rec_child(b, parent);
    return cji_rec_put(b, kind, about, value, room, offset, bytes, n);
}

cji_rec_class cji_rec_class_of(const char *type, size_t n)
{
    static const struct { const char *type; cji_rec_class class; } classes[] = {
#define CLASS_ROW(CLASS, type) { #type, CJI_HANDLE_##CLASS },
        CJI_REC_CLASSES(CLASS_ROW)
#undef CLASS_ROW
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i].type) == n && !memcmp(classes[i].type, type, n)) return classes[i].class;
    return CJI_HANDLE_NONE;
}
