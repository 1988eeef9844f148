/* A hash of 128 bits of any number of bytes: keys and checksums of what is stored.  Prefix cji_hasher.
 *
 * It is for accidents, not for adversaries: bytes that are not equal have the same hash with a probability of 2^-128,
 * but who wants to can construct such bytes.  The value is the same in every process of a byte order and is stored in
 * files: who changes it raises CJI_DISK_FORMAT (src/driver/cache). */
#ifndef CJI_HASH128_H
#define CJI_HASH128_H

#include <stddef.h>
#include <stdint.h>

typedef struct cji_hash128 { uint64_t word[2]; } cji_hash128;

enum { CJI_HASHER_LANES = 4, CJI_HASHER_BLOCK = 16 * CJI_HASHER_LANES };

typedef struct cji_hasher {
    uint64_t lane[CJI_HASHER_LANES][2];
    uint64_t bytes;                        /* put so far */
    unsigned char left[CJI_HASHER_BLOCK];  /* the last bytes % CJI_HASHER_BLOCK of them */
} cji_hasher;

void cji_hasher_begin(cji_hasher *h);
/* The hash depends on the bytes that were put, not on how they were divided into calls. */
void cji_hasher_put(cji_hasher *h, const void *p, size_t n);
/* `n` records of 32 bytes, behind zeros up to the next block: of the second 8 bytes of each, in the order of memory,
 * those bits count that are 1 in `second`. */
void cji_hasher_put_records(cji_hasher *h, const void *p, size_t n, uint64_t second);
cji_hash128 cji_hasher_end(const cji_hasher *h);

static inline void cji_hasher_u64(cji_hasher *h, uint64_t x) { cji_hasher_put(h, &x, sizeof x); }
/* A text or an array with its length in front, so that two of them in a row are not mistaken for others. */
static inline void cji_hasher_list(cji_hasher *h, const void *p, size_t n, size_t each)
{
    cji_hasher_u64(h, n);
    cji_hasher_put(h, p, n * each);
}

/* Of one piece. */
cji_hash128 cji_hash_bytes(const void *p, size_t n);

static inline int cji_hash128_equal(cji_hash128 a, cji_hash128 b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

#endif
