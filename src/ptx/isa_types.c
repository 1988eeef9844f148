/* The fundamental types (types.def) and special registers, as data. */
#include <string.h>

#include "isa.h"
#include "isa_sreg.h"

typedef struct type_row { const char *word; uint8_t bits; char cls; const char *prefix; } type_row;

static const type_row type_rows[CJ_TYPE_COUNT] = {
    [CJ_VOID] = { "void", 0, 'V', "" },
#define TY(id, word, bits, cls, prefix) [id] = { word, bits, #cls[0], prefix },
#include "types.def"
};

static const type_row *type_at(unsigned type) { return &type_rows[type < CJ_TYPE_COUNT ? type : CJ_VOID]; }

const char *cji_type_word(unsigned type) { return type_at(type)->word; }
uint8_t cji_type_bits(unsigned type) { return type_at(type)->bits; }
const char *cji_type_prefix(unsigned type) { return type_at(type)->prefix; }
bool cji_type_is_float(unsigned type) { return type_at(type)->cls == 'F' || type_at(type)->cls == 'X'; }
bool cji_type_is_signed(unsigned type) { return type_at(type)->cls == 'S'; }

int cji_type_find(const char *word, size_t len)
{
    for (int i = 1; i < CJ_TYPE_COUNT; i++)
        if (strlen(type_rows[i].word) == len && !memcmp(type_rows[i].word, word, len)) return i;
    return -1;
}

unsigned cji_type_of_prefix(const char *s, size_t len)
{
    for (unsigned i = 1; i < CJ_TYPE_COUNT && *s == '%'; i++)
        if (strlen(type_rows[i].prefix) == len - 1 && !memcmp(type_rows[i].prefix, s + 1, len - 1)) return i;
    return CJ_VOID;
}

uint32_t cji_isa_sregs(void) { return cji_isa_sreg_total; }
const cji_isa_sreg *cji_isa_sreg_at(uint32_t i) { return i < cji_isa_sreg_total ? &cji_isa_sreg_table[i] : NULL; }

int cji_isa_sreg_find(const char *name, size_t len)
{
    const char second = len > 1 ? name[1] : 0; /* the first one is a % */
    for (uint32_t i = 0; i < cji_isa_sreg_total; i++) {
        const char *row = cji_isa_sreg_table[i].name;
        if (row[1] == second && !strncmp(row, name, len) && !row[len]) return (int)i;
    }
    return -1;
}
