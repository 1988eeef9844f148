/* The compiled instruction table: what tools/isagen writes into isa_data.c and isa*.c read.  Constant data only.
 * Both sides include this file, so the structs cannot drift apart.
 */
#ifndef CJI_ISA_TABLE_H
#define CJI_ISA_TABLE_H

#include <stdint.h>

#define CJI_ISA_SLOTS 16       /* most slots of a row */
#define CJI_ISA_ANY 0xff       /* "no slot" in the *_slot fields */

/* A register class: what a typed place accepts (CLASS rows of sets.def). */
typedef struct cji_isa_class {
    uint32_t types;            /* mask of 1 << cj_type */
    uint8_t type;              /* the instruction's own type here */
    uint8_t literal;           /* CJI_CLS_* */
} cji_isa_class;

/* literals: integer, 0f.., 0d.. and decimals */
enum { CJI_CLS_NONE = 0, CJI_CLS_INT = 1, CJI_CLS_F32 = 2, CJI_CLS_F64 = 4 };

/* One value of a slot. */
typedef struct cji_isa_value {
    uint16_t word, num;
    uint8_t cls, space, version, targets;
} cji_isa_value;

typedef struct cji_isa_slot {
    uint16_t value;            /* its first value */
    uint8_t count, optional;
} cji_isa_slot;

/* A piece of a spelling: a word, a slot (CJI_PIECE_SLOT | i) or a slot spelled again (CJI_PIECE_AGAIN | i). */
enum { CJI_PIECE_SLOT = 0x8000, CJI_PIECE_AGAIN = 0xc000, CJI_PIECE_MASK = 0x3fff };

/* What stands at an operand's place, before the slots decide. */
enum {
    CJI_SH_REG = 0,
    CJI_SH_IMM,
    CJI_SH_MEM,
    CJI_SH_VEC,
    CJI_SH_TEXMEM,
    CJI_SH_LABEL,
    CJI_SH_FUNC,
    CJI_SH_LIST,
    CJI_SH_TARGETS,
    CJI_SH_SINK
};
enum {
    CJI_OF_READ = 1,
    CJI_OF_WRITE = 2,
    CJI_OF_REGONLY = 4,
    CJI_OF_SREG = 8,
    CJI_OF_SYM = 16,
    CJI_OF_NOT = 32,
    CJI_OF_SINK = 64,
    CJI_OF_OPTIONAL = 128,
    CJI_OF_PAIR = 256,
    CJI_OF_PAIRONLY = 512,
    CJI_OF_SINK2 = 1024,
    CJI_OF_TMEM = 2048, /* an address of 32 bits: tensor memory */
    CJI_OF_ONE = 4096,  /* a vector of one means its element */
    CJI_OF_ANY = 8192   /* an address without a space: of symbols of every space */
};
typedef struct cji_isa_place {
    uint16_t flags;            /* CJI_OF_* */
    uint8_t shape;             /* CJI_SH_* */
    uint8_t cls, cls_slot;     /* class, or the slot that gives it */
    uint8_t count, count_slot, count_div; /* of a vector: a number, or slot's number / count_div */
    uint8_t cls2, cls2_slot;   /* TEXMEM: class of the leading elements */
    uint8_t count2, count2_slot;
    uint8_t space, space_slot; /* MEM */
    uint8_t when;              /* exists only with that slot chosen */
    uint8_t unless;            /* exists only without it */
    uint8_t version, targets;  /* its own needs, where it is optional */
    uint8_t pair_version, pair_targets, pair_cls;
    uint8_t range;             /* of literals: index, 0: none */
} cji_isa_place;

typedef struct cji_isa_range { int64_t lo, hi; uint8_t step; } cji_isa_range;

typedef struct cji_isa_row {
    uint32_t first;            /* its first form */
    uint16_t op, piece, slot, place, section, effect;
    uint8_t npiece, nslot, nplace, nop; /* nop: leading words that are the op */
    uint8_t nname;             /* leading pieces that are the instruction's name: they keep their order */
    uint8_t version, targets, end_version, end_targets, late_version, late_targets;
} cji_isa_row;

/* kind: ' ', 'a', 'f' */
typedef struct cji_isa_target { const char *name; uint16_t number; uint8_t since; char kind; } cji_isa_target;

extern const cji_isa_class cji_isa_classes[];
extern const cji_isa_value cji_isa_values[];
extern const cji_isa_slot cji_isa_slots[];
extern const uint16_t cji_isa_pieces[];
extern const cji_isa_place cji_isa_places[];
extern const cji_isa_range cji_isa_ranges[];
extern const cji_isa_row cji_isa_table[];      /* one more than there are: .first is the number of forms */
extern const uint32_t cji_isa_table_rows;
extern const char cji_isa_sections[];          /* texts with NULs */
extern const char cji_isa_text[];              /* words, one after another */
extern const uint16_t cji_isa_word_at[];       /* word i is text[at[i] .. at[i+1]) */
extern const uint16_t cji_isa_word_count;
extern const uint16_t cji_isa_word_hash[];     /* open addressing, 0xffff: free */
extern const uint16_t cji_isa_word_mask;
extern const uint8_t cji_isa_word_order[];     /* words of one number (not 0) keep their order in a spelling */
extern const uint16_t cji_isa_lead[];          /* rows that begin with word i: by_lead[lead[i] .. lead[i+1]) */
extern const uint16_t cji_isa_by_lead[];
extern const uint64_t cji_isa_target_sets[];   /* closed under intersection */
extern const uint8_t cji_isa_target_meet[];    /* set x set -> set */
extern const uint16_t cji_isa_target_set_count;
extern const cji_isa_target cji_isa_target_names[];
extern const uint32_t cji_isa_target_total;
extern const uint64_t cji_isa_content_hash;

/* The hash that isagen and isa_find.c share: FNV-1a. */
static inline uint32_t cji_isa_word_fnv(const char *s, uint32_t n)
{
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h ^ h >> 15;
}

#endif
