/* The hash: four lanes of 128 bits, each of which takes 16 bytes by one multiplication of 64 by 64 bits.
 *
 * A lane (x, y) takes words (v, w) as a = x ^ v, b = y ^ w and becomes (b ^ high, a ^ low) of the product a * b: both
 * factors stay in it, so a factor that is 0 loses nothing of the other one. */
#include "base/hash128.h"
#include "base/first.h"

#include <string.h>

__extension__ typedef unsigned __int128 hash_wide;

/* Digits of pi, behind the point. */
static const uint64_t hash_seed[CJI_HASHER_LANES][2] = {
    { 0x243f6a8885a308d3u, 0x13198a2e03707344u },
    { 0xa4093822299f31d0u, 0x082efa98ec4e6c89u },
    { 0x452821e638d01377u, 0xbe5466cf34e90c6cu },
    { 0xc0ac29b7c97c50ddu, 0x3f84d5b5b5470917u },
};

static inline void hash_mix(uint64_t *lane, uint64_t v, uint64_t w)
{
    uint64_t a = lane[0] ^ v, b = lane[1] ^ w;
    hash_wide product = (hash_wide)a * b;
    lane[0] = b ^ (uint64_t)(product >> 64);
    lane[1] = a ^ (uint64_t)product;
}

static inline void hash_lane(uint64_t *lane, const unsigned char *p)
{
    uint64_t v, w;
    memcpy(&v, p, 8);
    memcpy(&w, p + 8, 8);
    hash_mix(lane, v, w);
}

/* Without a loop: gcc -O2 keeps lanes in memory that a number chooses, and takes three times as long. */
static inline void hash_block(uint64_t lane[CJI_HASHER_LANES][2], const unsigned char *p)
{
    _Static_assert(CJI_HASHER_LANES == 4, "each lane has its line");
    hash_lane(lane[0], p);
    hash_lane(lane[1], p + 16);
    hash_lane(lane[2], p + 32);
    hash_lane(lane[3], p + 48);
}

void cji_hasher_begin(cji_hasher *h)
{
    memcpy(h->lane, hash_seed, sizeof h->lane);
    h->bytes = 0;
}

CJI_FIRST void cji_hasher_put(cji_hasher *h, const void *p, size_t n)
{
    const unsigned char *s = p;
    size_t at = h->bytes % CJI_HASHER_BLOCK;
    if (!n) return;
    h->bytes += n;
    if (at) {
        size_t fill = CJI_HASHER_BLOCK - at < n ? CJI_HASHER_BLOCK - at : n;
        memcpy(h->left + at, s, fill);
        if (at + fill < CJI_HASHER_BLOCK) return;
        hash_block(h->lane, h->left);
        s += fill;
        n -= fill;
    }
    uint64_t lane[CJI_HASHER_LANES][2];
    memcpy(lane, h->lane, sizeof lane); /* in registers */
    for (; n >= CJI_HASHER_BLOCK; n -= CJI_HASHER_BLOCK, s += CJI_HASHER_BLOCK) hash_block(lane, s);
    memcpy(h->lane, lane, sizeof lane);
    if (n) memcpy(h->left, s, n);
}

/* Two records are a block. */
enum { RECORD_BYTES = 32 };
_Static_assert(2 * RECORD_BYTES == CJI_HASHER_BLOCK, "two of them are taken at once");

static inline void hash_masked_lane(uint64_t *lane, const unsigned char *p, uint64_t second)
{
    uint64_t v, w;
    memcpy(&v, p, 8);
    memcpy(&w, p + 8, 8);
    hash_mix(lane, v, w & second);
}

CJI_FIRST void cji_hasher_put_records(cji_hasher *h, const void *p, size_t n, uint64_t second)
{
    static const unsigned char zeros[CJI_HASHER_BLOCK];
    const unsigned char *s = p;
    cji_hasher_put(h, zeros, (CJI_HASHER_BLOCK - h->bytes % CJI_HASHER_BLOCK) % CJI_HASHER_BLOCK);
    uint64_t lane[CJI_HASHER_LANES][2], last[RECORD_BYTES / 8];
    memcpy(lane, h->lane, sizeof lane); /* in registers */
    for (size_t i = 0; i < n / 2; i++, s += CJI_HASHER_BLOCK) {
        hash_masked_lane(lane[0], s, second);
        hash_lane(lane[1], s + 16);
        hash_masked_lane(lane[2], s + RECORD_BYTES, second);
        hash_lane(lane[3], s + RECORD_BYTES + 16);
    }
    memcpy(h->lane, lane, sizeof lane);
    h->bytes += n / 2 * CJI_HASHER_BLOCK;
    if (n % 2 == 0) return;
    memcpy(last, s, sizeof last);
    last[1] &= second;
    cji_hasher_put(h, last, sizeof last);
}

CJI_FIRST cji_hash128 cji_hasher_end(const cji_hasher *h)
{
    uint64_t lane[CJI_HASHER_LANES][2];
    unsigned char last[CJI_HASHER_BLOCK] = { 0 };
    memcpy(lane, h->lane, sizeof lane);
    memcpy(last, h->left, h->bytes % CJI_HASHER_BLOCK);
    hash_block(lane, last);
    for (int i = 1; i < CJI_HASHER_LANES; i++) hash_mix(lane[0], lane[i][0], lane[i][1]);
    hash_mix(lane[0], h->bytes, hash_seed[0][1]); /* zeros behind the last byte are no bytes */
    for (int i = 1; i < CJI_HASHER_LANES; i++) hash_mix(lane[0], hash_seed[i][0], hash_seed[i][1]);
    return (cji_hash128){ { lane[0][0], lane[0][1] } };
}

CJI_FIRST cji_hash128 cji_hash_bytes(const void *p, size_t n)
{
    cji_hasher h;
    cji_hasher_begin(&h);
    cji_hasher_put(&h, p, n);
    return cji_hasher_end(&h);
}
