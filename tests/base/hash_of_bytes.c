/* The hash of 128 bits: each bit of the input changes half of it, it does not depend on how bytes are put, and its
 * values, which are stored, stay what they are. */
#include "base/hash128.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

static unsigned char bytes[1024];

static int differing_bits(cji_hash128 a, cji_hash128 b)
{
    return __builtin_popcountll(a.word[0] ^ b.word[0]) + __builtin_popcountll(a.word[1] ^ b.word[1]);
}

/* Of random bytes, and of zeros, where only the place and the length tell inputs apart. */
static void each_bit_counts(const char *what)
{
    static const size_t sizes[] = { 1, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 200 };
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t n = sizes[k];
        cji_hash128 whole = cji_hash_bytes(bytes, n);
        int least = 128, most = 0;
        long all = 0;
        for (size_t bit = 0; bit < 8 * n; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            int d = differing_bits(whole, cji_hash_bytes(bytes, n));
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            if (d < least) least = d;
            if (d > most) most = d;
            all += d;
        }
        double mean = (double)all / (8.0 * (double)n);
        tap_ok(least > 32 && most < 96 && mean > 58 && mean < 70,
               "%s: a bit of %zu bytes changes %d to %d of 128 bits, %.1f on average", what, n, least, most, mean);
    }
}

static int by_words(const void *a, const void *b) { return memcmp(a, b, sizeof(cji_hash128)); }

static void all_differ(void)
{
    enum { N = 1 << 14 };
    static cji_hash128 seen[4 * N];
    size_t n = 0;
    static const unsigned char zeros[N] = { 0 };
    for (uint64_t i = 0; i < N; i++) {
        uint64_t pair[2] = { i, i << 32 };
        seen[n++] = cji_hash_bytes(zeros, i);             /* of each length */
        seen[n++] = cji_hash_bytes(&pair[0], 8);
        seen[n++] = cji_hash_bytes(&pair[1], 8);
        pair[1] = i * 3;
        seen[n++] = cji_hash_bytes(pair, sizeof pair);
    }
    size_t same = 0, zero = 0;
    qsort(seen, n, sizeof *seen, by_words);
    for (size_t i = 1; i < n; i++) same += cji_hash128_equal(seen[i - 1], seen[i]);
    for (size_t i = 0; i < n; i++) zero += !seen[i].word[0] || !seen[i].word[1];
    /* Eight zeros are there three times: as a length, and twice as the number 0; sixteen twice. */
    tap_is_uint(same, 3, "inputs that differ have hashes that differ");
    tap_is_uint(zero, 0, "no word of a hash is 0");
}

/* Records are what they are as bytes, with zeros in front up to the next block, and without the bits that do not count.
 */
static void records(void)
{
    enum { RECORD = 32, MOST = 30 };
    const uint64_t second = 0xffffffff00ffff0fu;
    static unsigned char plain[MOST * RECORD];
    size_t wrong = 0, blind = 0;
    memcpy(plain, bytes, sizeof plain);
    for (size_t i = 0; i < MOST; i++) {
        uint64_t word;
        memcpy(&word, plain + i * RECORD + 8, sizeof word);
        word &= second;
        memcpy(plain + i * RECORD + 8, &word, sizeof word);
    }
    for (size_t before = 0; before <= 2 * CJI_HASHER_BLOCK; before++)
        for (size_t n = 0; n <= MOST; n++) {
            static const unsigned char zeros[CJI_HASHER_BLOCK];
            cji_hasher h, same;
            cji_hasher_begin(&h);
            cji_hasher_put(&h, bytes, before);
            same = h;
            cji_hasher_put_records(&h, bytes, n, second);
            cji_hasher_put(&h, bytes, 5);
            cji_hasher_put(&same, zeros, (2 * CJI_HASHER_BLOCK - before) % CJI_HASHER_BLOCK);
            cji_hasher_put(&same, plain, n * RECORD);
            cji_hasher_put(&same, bytes, 5);
            wrong += !cji_hash128_equal(cji_hasher_end(&h), cji_hasher_end(&same));
        }
    tap_is_uint(wrong, 0, "records are the bytes that count of them, behind zeros");
    for (size_t bit = 0; bit < 8 * sizeof plain; bit++) {
        cji_hasher h;
        const size_t at = bit / 8;
        plain[at] ^= (unsigned char)(1 << bit % 8);
        uint64_t mask = UINT64_MAX;
        if (at % RECORD >= 8 && at % RECORD < 16) {
            unsigned char part[8];
            memcpy(part, &second, sizeof part);
            mask = part[at % RECORD - 8] >> bit % 8 & 1;
        }
        cji_hasher_begin(&h);
        cji_hasher_put_records(&h, plain, MOST, second);
        plain[at] ^= (unsigned char)(1 << bit % 8);
        cji_hasher first;
        cji_hasher_begin(&first);
        cji_hasher_put_records(&first, plain, MOST, second);
        blind += (bool)mask == (bool)cji_hash128_equal(cji_hasher_end(&h), cji_hasher_end(&first));
    }
    tap_is_uint(blind, 0, "each bit of a record counts, unless it is left out");
}

static void pieces(void)
{
    cji_hash128 whole = cji_hash_bytes(bytes, sizeof bytes);
    size_t wrong = 0;
    srand(7);
    for (int round = 0; round < 200; round++) {
        cji_hasher h;
        cji_hasher_begin(&h);
        for (size_t at = 0; at < sizeof bytes;) {
            size_t n = (size_t)rand() % 150;
            if (n > sizeof bytes - at) n = sizeof bytes - at;
            cji_hasher_put(&h, n ? bytes + at : NULL, n);
            at += n;
        }
        wrong += !cji_hash128_equal(cji_hasher_end(&h), whole);
    }
    tap_is_uint(wrong, 0, "the same bytes in other pieces have the same hash");
    cji_hasher a, b;
    cji_hasher_begin(&a);
    cji_hasher_begin(&b);
    cji_hasher_list(&a, "ab", 2, 1);
    cji_hasher_list(&a, "c", 1, 1);
    cji_hasher_list(&b, "a", 1, 1);
    cji_hasher_list(&b, "bc", 2, 1);
    tap_ok(!cji_hash128_equal(cji_hasher_end(&a), cji_hasher_end(&b)), "lists are told apart by their lengths");
}

static void values(void)
{
    static const struct { const char *text; uint64_t first, second; } rows[] = {
#include "tests/base/hash_values.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cji_hash128 h = cji_hash_bytes(rows[i].text, strlen(rows[i].text));
        tap_is_uint(h.word[0], rows[i].first, "the first word of the hash of \"%.20s\"", rows[i].text);
        tap_is_uint(h.word[1], rows[i].second, "the second word");
    }
}

int main(void)
{
    tap_plan(0);
    each_bit_counts("zeros");
    srand(1);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(rand() >> 8);
    each_bit_counts("random bytes");
    all_differ();
    pieces();
    records();
    values();
    return tap_done();
}
