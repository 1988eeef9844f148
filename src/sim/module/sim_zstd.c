/* Zstandard frames (RFC 8878), without dictionaries: blocks of literals, Huffman-coded, and of sequences, coded by
 * three finite-state tables. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "sim/module/sim_unpack.h"

enum {
    ZSTD_MAGIC = (int)0xfd2fb528u, ZSTD_BLOCK = 128 * 1024, ZSTD_HUF_BITS = 11, ZSTD_FSE_BITS = 9, ZSTD_SYMBOLS = 256
};

typedef struct zstd_fse_state { uint8_t symbol, bits; uint16_t base; } zstd_fse_state;
typedef struct zstd_fse {
    unsigned log;                   /* 1 << log states */
    bool ready;
    zstd_fse_state state[1 << ZSTD_FSE_BITS];
} zstd_fse;

typedef struct zstd_huf {
    unsigned bits;                  /* of the longest code; 0: there is no table yet */
    uint8_t symbol[1 << ZSTD_HUF_BITS], length[1 << ZSTD_HUF_BITS];
} zstd_huf;

enum { ZSTD_LL, ZSTD_OF, ZSTD_ML, ZSTD_TABLES };

typedef struct zstd_frame {
    const unsigned char *p, *end;
    unsigned char *out;
    size_t n, size;                 /* written; all */
    size_t repeat[3];
    zstd_huf huf;
    zstd_fse table[ZSTD_TABLES];
    zstd_fse weights;
    size_t literals;
    unsigned char literal[ZSTD_BLOCK];
} zstd_frame;

/* ---- Bits -------------------------------------------------------------------------------------------------------- */

static unsigned zstd_top_bit(uint32_t v) { return 31 - (unsigned)__builtin_clz(v); }

/* `count` <= 32 bits from bit `at` on; bits before the first byte and behind the last one are 0. */
static uint32_t zstd_bits(const unsigned char *p, size_t bytes, int64_t at, unsigned count)
{
    uint64_t v = 0;
    int64_t first = at >> 3;
    for (int64_t i = 0; i < 5; i++)
        if (first + i >= 0 && (uint64_t)(first + i) < bytes) v |= (uint64_t)p[first + i] << (8 * i);
    return (uint32_t)(v >> (at & 7) & ((UINT64_C(1) << count) - 1));
}

/* A stream of bits that is read from its end: the highest bit that is set in the last byte is a mark. */
typedef struct zstd_back { const unsigned char *p; size_t bytes; int64_t at; } zstd_back;

static bool zstd_back_open(zstd_back *b, const unsigned char *p, size_t bytes)
{
    if (!bytes || !p[bytes - 1]) return false;
    *b = (zstd_back){ p, bytes, (int64_t)(bytes - 1) * 8 + (int64_t)zstd_top_bit(p[bytes - 1]) };
    return true;
}

static uint32_t zstd_take(zstd_back *b, unsigned count)
{
    b->at -= count;
    return count ? zstd_bits(b->p, b->bytes, b->at, count) : 0;
}

/* ---- Finite-state tables ----------------------------------------------------------------------------------------- */

/* count[i]: how many states the i-th symbol has; -1: one, at the end of the table. */
static bool zstd_fse_make(zstd_fse *t, const int16_t *count, unsigned symbols, unsigned log)
{
    uint16_t next[ZSTD_SYMBOLS] = { 0 };
    unsigned size = 1u << log, high = size, at = 0;
    for (unsigned s = 0; s < symbols; s++)
        if (count[s] < 0) {
            t->state[--high].symbol = (uint8_t)s;
            next[s] = 1;
        }
    for (unsigned s = 0; s < symbols; s++) {
        if (count[s] <= 0) continue;
        next[s] = (uint16_t)count[s];
        for (int i = 0; i < count[s]; i++) {
            t->state[at].symbol = (uint8_t)s;
            do at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1);
            while (at >= high);
        }
    }
    if (at) return false;
    for (unsigned i = 0; i < size; i++) {
        unsigned n = next[t->state[i].symbol]++;
        t->state[i].bits = (uint8_t)(log - zstd_top_bit(n));
        t->state[i].base = (uint16_t)((n << t->state[i].bits) - size);
    }
    t->log = log;
    return t->ready = true;
}

/* Reads a table's description from *p, which it moves behind it. */
static bool zstd_fse_read(zstd_fse *t, const unsigned char **p, const unsigned char *end, unsigned max_log,
                          unsigned max_symbols)
{
    int16_t count[ZSTD_SYMBOLS] = { 0 };
    size_t bytes = (size_t)(end - *p);
    int64_t at = 4;
    if (!bytes) return false;
    unsigned log = 5 + (**p & 15), symbols = 0;
    if (log > max_log) return false;
    int left = 1 << log;
    while (left > 0 && symbols < max_symbols) {
        unsigned bits = zstd_top_bit((uint32_t)left + 1) + 1;
        unsigned v = zstd_bits(*p, bytes, at, bits), low = v & ((1u << (bits - 1)) - 1);
        unsigned spare = (1u << bits) - 1 - ((unsigned)left + 1);
        at += bits;
        if (low < spare) {
            at--;
            v = low;
        } else if (v >> (bits - 1)) {
            v -= spare;
        }
        int n = (int)v - 1;
        left -= n < 0 ? 1 : n;
        count[symbols++] = (int16_t)n;
        for (unsigned zeros = n ? 0 : 3; zeros == 3;) {
            zeros = zstd_bits(*p, bytes, at, 2);
            at += 2;
            symbols += zeros;
            if (symbols > max_symbols || (uint64_t)at > bytes * 8) return false;
        }
        if ((uint64_t)at > bytes * 8) return false;
    }
    if (left) return false;
    *p += (at + 7) / 8;
    return zstd_fse_make(t, count, symbols, log);
}

static void zstd_fse_step(const zstd_fse *t, unsigned *state, zstd_back *b)
{
    const zstd_fse_state *s = &t->state[*state];
    *state = s->base + zstd_take(b, s->bits);
}

/* ---- Huffman codes ----------------------------------------------------------------------------------------------- */

/* The weights of a table, as two interleaved streams of states; how many, 0 for damage. */
static unsigned zstd_weights(zstd_frame *f, const unsigned char *p, size_t bytes, uint8_t *weight)
{
    const unsigned char *at = p;
    zstd_back b;
    if (!zstd_fse_read(&f->weights, &at, p + bytes, 6, ZSTD_SYMBOLS)) return 0;
    if (!zstd_back_open(&b, at, (size_t)(p + bytes - at))) return 0;
    unsigned state[2], n = 0, turn = 0;
    for (int i = 0; i < 2; i++) state[i] = zstd_take(&b, f->weights.log);
    if (b.at < 0) return 0;
    for (; n < ZSTD_SYMBOLS - 2; turn ^= 1) {
        weight[n++] = f->weights.state[state[turn]].symbol;
        zstd_fse_step(&f->weights, &state[turn], &b);
        if (b.at >= 0) continue;
        weight[n++] = f->weights.state[state[turn ^ 1]].symbol;
        return n;
    }
    return 0;
}

/* The last symbol's weight is what is left to a power of two. */
static bool zstd_huf_make(zstd_huf *h, uint8_t *weight, unsigned n)
{
    uint32_t sum = 0, start[ZSTD_HUF_BITS + 3] = { 0 }, count[ZSTD_HUF_BITS + 2] = { 0 };
    h->bits = 0;
    for (unsigned i = 0; i < n; i++) {
        if (weight[i] > ZSTD_HUF_BITS) return false;
        sum += weight[i] ? 1u << (weight[i] - 1) : 0;
    }
    if (!sum) return false;
    unsigned bits = zstd_top_bit(sum) + 1;
    uint32_t left = (1u << bits) - sum;
    if (bits > ZSTD_HUF_BITS || (left & (left - 1))) return false;
    weight[n++] = (uint8_t)(zstd_top_bit(left) + 1);
    for (unsigned i = 0; i < n; i++) count[weight[i]]++;
    for (unsigned w = 1; w <= bits; w++) start[w + 1] = start[w] + (count[w] << (w - 1));
    for (unsigned i = 0; i < n; i++) {
        unsigned w = weight[i];
        if (!w) continue;
        uint32_t room = 1u << (w - 1);
        if (start[w] + room > 1u << bits) return false;
        memset(h->symbol + start[w], (int)i, room);
        memset(h->length + start[w], (int)(bits + 1 - w), room);
        start[w] += room;
    }
    h->bits = bits;
    return true;
}

static bool zstd_huf_read(zstd_frame *f, const unsigned char **p, const unsigned char *end)
{
    uint8_t weight[ZSTD_SYMBOLS + 1] = { 0 };
    if (*p == end) return false;
    unsigned head = *(*p)++, n = head - 127;
    if (head < 128) {
        if (head > (size_t)(end - *p)) return false;
        n = zstd_weights(f, *p, head, weight);
        *p += head;
        return n && zstd_huf_make(&f->huf, weight, n);
    }
    if ((n + 1) / 2 > (size_t)(end - *p)) return false;
    for (unsigned i = 0; i < n; i++) weight[i] = i & 1 ? (*p)[i / 2] & 15 : (*p)[i / 2] >> 4;
    *p += (n + 1) / 2;
    return zstd_huf_make(&f->huf, weight, n);
}

static bool zstd_huf_stream(const zstd_huf *h, const unsigned char *p, size_t bytes, unsigned char *out, size_t n)
{
    zstd_back b;
    if (!zstd_back_open(&b, p, bytes)) return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t code = zstd_bits(b.p, b.bytes, b.at - h->bits, h->bits);
        out[i] = h->symbol[code];
        b.at -= h->length[code];
        if (b.at < 0) return false;
    }
    return b.at == 0;
}

/* ---- Literals ---------------------------------------------------------------------------------------------------- */

static bool zstd_huf_literals(zstd_frame *f, const unsigned char *p, size_t bytes, bool four)
{
    if (!four) return zstd_huf_stream(&f->huf, p, bytes, f->literal, f->literals);
    size_t part = (f->literals + 3) / 4, at = 6, done = 0;
    if (bytes < 6) return false;
    for (int i = 0; i < 4; i++) {
        size_t length = i < 3 ? p[2 * i] | (size_t)p[2 * i + 1] << 8 : bytes - at;
        size_t n = i < 3 ? part : f->literals - done;
        if (length > bytes - at || done + n > f->literals || done > f->literals) return false;
        if (!zstd_huf_stream(&f->huf, p + at, length, f->literal + done, n)) return false;
        at += length;
        done += n;
    }
    return true;
}

/* The literals of a block, into f->literal. */
static bool zstd_literals(zstd_frame *f, const unsigned char **p, const unsigned char *end)
{
    size_t left = (size_t)(end - *p);
    if (!left) return false;
    unsigned kind = **p & 3, form = **p >> 2 & 3;
    if (kind < 2) {   /* as they are, or one that is repeated */
        unsigned head = form == 1 ? 2 : form == 3 ? 3 : 1;
        if (left < head) return false;
        f->literals = zstd_bits(*p, left, form == 1 || form == 3 ? 4 : 3, head == 1 ? 5 : 8 * head - 4);
        *p += head;
        size_t bytes = kind ? 1 : f->literals;
        if (f->literals > ZSTD_BLOCK || bytes > left - head) return false;
        if (kind) memset(f->literal, **p, f->literals);
        else memcpy(f->literal, *p, bytes);
        *p += bytes;
        return true;
    }
    unsigned head = form < 2 ? 3 : form + 2, bits = form < 2 ? 10 : form == 2 ? 14 : 18;
    if (left < head) return false;
    f->literals = zstd_bits(*p, left, 4, bits);
    size_t bytes = zstd_bits(*p, left, 4 + bits, bits);
    *p += head;
    if (f->literals > ZSTD_BLOCK || bytes > left - head) return false;
    const unsigned char *at = *p, *stop = *p + bytes;
    *p = stop;
    if (kind == 2 && !zstd_huf_read(f, &at, stop)) return false;
    return f->huf.bits && zstd_huf_literals(f, at, (size_t)(stop - at), form != 0);
}

/* ---- Sequences --------------------------------------------------------------------------------------------------- */

typedef struct zstd_code { uint32_t base; uint8_t bits; } zstd_code;

static const zstd_code zstd_ll_code[36] = {
    { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 0 }, { 5, 0 }, { 6, 0 }, { 7, 0 }, { 8, 0 }, { 9, 0 },
    { 10, 0 }, { 11, 0 }, { 12, 0 }, { 13, 0 }, { 14, 0 }, { 15, 0 }, { 16, 1 }, { 18, 1 }, { 20, 1 },
    { 22, 1 }, { 24, 2 }, { 28, 2 }, { 32, 3 }, { 40, 3 }, { 48, 4 }, { 64, 6 }, { 128, 7 }, { 256, 8 },
    { 512, 9 }, { 1024, 10 }, { 2048, 11 }, { 4096, 12 }, { 8192, 13 }, { 16384, 14 }, { 32768, 15 },
    { 65536, 16 },
};
static const zstd_code zstd_ml_code[53] = {
    { 3, 0 }, { 4, 0 }, { 5, 0 }, { 6, 0 }, { 7, 0 }, { 8, 0 }, { 9, 0 }, { 10, 0 }, { 11, 0 }, { 12, 0 },
    { 13, 0 }, { 14, 0 }, { 15, 0 }, { 16, 0 }, { 17, 0 }, { 18, 0 }, { 19, 0 }, { 20, 0 }, { 21, 0 },
    { 22, 0 }, { 23, 0 }, { 24, 0 }, { 25, 0 }, { 26, 0 }, { 27, 0 }, { 28, 0 }, { 29, 0 }, { 30, 0 },
    { 31, 0 }, { 32, 0 }, { 33, 0 }, { 34, 0 }, { 35, 1 }, { 37, 1 }, { 39, 1 }, { 41, 1 }, { 43, 2 },
    { 47, 2 }, { 51, 3 }, { 59, 3 }, { 67, 4 }, { 83, 4 }, { 99, 5 }, { 131, 7 }, { 259, 8 }, { 515, 9 },
    { 1027, 10 }, { 2051, 11 }, { 4099, 12 }, { 8195, 13 }, { 16387, 14 }, { 32771, 15 }, { 65539, 16 },
};
static const int16_t zstd_ll_usual[36] = {
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1,
    -1, -1,
};
static const int16_t zstd_of_usual[29] = {
    1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
};
static const int16_t zstd_ml_usual[53] = {
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
};
static const struct { unsigned symbols, log, max_log; const int16_t *usual; unsigned usual_symbols; } zstd_kinds[] = {
    [ZSTD_LL] = { 36, 6, 9, zstd_ll_usual, 36 },
    [ZSTD_OF] = { 32, 5, 8, zstd_of_usual, 29 },
    [ZSTD_ML] = { 53, 6, 9, zstd_ml_usual, 53 },
};

/* The table of one kind for a block: the usual one, one symbol, a new one, or the block's before. */
static bool zstd_table(zstd_frame *f, int kind, unsigned mode, const unsigned char **p, const unsigned char *end)
{
    zstd_fse *t = &f->table[kind];
    switch (mode) {
    case 0: return zstd_fse_make(t, zstd_kinds[kind].usual, zstd_kinds[kind].usual_symbols, zstd_kinds[kind].log);
    case 1:
        if (*p == end || **p >= zstd_kinds[kind].symbols) return false;
        t->log = 0;
        t->state[0] = (zstd_fse_state){ *(*p)++, 0, 0 };
        return t->ready = true;
    case 2: return zstd_fse_read(t, p, end, zstd_kinds[kind].max_log, zstd_kinds[kind].symbols);
    default: return t->ready;
    }
}

/* The distance that a sequence copies from; 0 for damage. */
static size_t zstd_distance(zstd_frame *f, size_t value, bool no_literals)
{
    size_t *r = f->repeat, d;
    if (value > 3) {
        d = value - 3;
    } else {
        size_t which = value - 1 + no_literals;
        d = which < 3 ? r[which] : r[0] - 1;
        if (which == 0) return d;
        if (which == 1) {
            r[1] = r[0];
            r[0] = d;
            return d;
        }
    }
    r[2] = r[1];
    r[1] = r[0];
    r[0] = d;
    return d;
}

static bool zstd_emit(zstd_frame *f, const unsigned char *literal, size_t literals, size_t copied, size_t distance)
{
    if (literals > f->size - f->n || copied > f->size - f->n - literals) return false;
    if (literals) memcpy(f->out + f->n, literal, literals);
    f->n += literals;
    if (copied && (!distance || distance > f->n)) return false;
    for (size_t i = 0; i < copied; i++) f->out[f->n + i] = f->out[f->n + i - distance];
    f->n += copied;
    return true;
}

static bool zstd_sequences(zstd_frame *f, const unsigned char *p, const unsigned char *end, size_t count)
{
    size_t used = 0;
    zstd_back b;
    unsigned state[ZSTD_TABLES];
    if (p == end) return false;
    unsigned modes = *p++;
    if (modes & 3) return false;
    for (int k = 0; k < ZSTD_TABLES; k++)
        if (!zstd_table(f, k, modes >> (6 - 2 * k) & 3, &p, end)) return false;
    if (!zstd_back_open(&b, p, (size_t)(end - p))) return false;
    for (int k = 0; k < ZSTD_TABLES; k++) state[k] = zstd_take(&b, f->table[k].log);
    for (size_t i = 0; i < count; i++) {
        unsigned of = f->table[ZSTD_OF].state[state[ZSTD_OF]].symbol;
        const zstd_code *ml = &zstd_ml_code[f->table[ZSTD_ML].state[state[ZSTD_ML]].symbol];
        const zstd_code *ll = &zstd_ll_code[f->table[ZSTD_LL].state[state[ZSTD_LL]].symbol];
        size_t value = ((size_t)1 << of) + zstd_take(&b, of);
        size_t copied = ml->base + zstd_take(&b, ml->bits), literals = ll->base + zstd_take(&b, ll->bits);
        if (b.at < 0 || literals > f->literals - used) return false;
        if (!zstd_emit(f, f->literal + used, literals, copied, zstd_distance(f, value, !literals))) return false;
        used += literals;
        if (i + 1 == count) break;
        zstd_fse_step(&f->table[ZSTD_LL], &state[ZSTD_LL], &b);
        zstd_fse_step(&f->table[ZSTD_ML], &state[ZSTD_ML], &b);
        zstd_fse_step(&f->table[ZSTD_OF], &state[ZSTD_OF], &b);
    }
    return b.at == 0 && zstd_emit(f, f->literal + used, f->literals - used, 0, 0);
}

/* ---- Blocks and the frame ---------------------------------------------------------------------------------------- */

static bool zstd_compressed(zstd_frame *f, const unsigned char *p, const unsigned char *end)
{
    if (!zstd_literals(f, &p, end) || p == end) return false;
    size_t count = *p++;
    if (count >= 128) {
        unsigned more = count == 255 ? 2 : 1;
        if ((size_t)(end - p) < more) return false;
        count = count == 255 ? (p[0] | (size_t)p[1] << 8) + 0x7f00 : (count - 128) << 8 | p[0];
        p += more;
    }
    if (count) return zstd_sequences(f, p, end, count);
    return p == end && zstd_emit(f, f->literal, f->literals, 0, 0);
}

/* One block; *last: it was the last one. */
static bool zstd_block(zstd_frame *f, bool *last)
{
    if (f->end - f->p < 3) return false;
    uint32_t head = f->p[0] | (uint32_t)f->p[1] << 8 | (uint32_t)f->p[2] << 16, kind = head >> 1 & 3;
    size_t size = head >> 3, bytes = kind == 1 ? 1 : size;
    f->p += 3;
    *last = head & 1;
    if (kind == 3 || bytes > (size_t)(f->end - f->p) || (kind == 2 && size > ZSTD_BLOCK)) return false;
    const unsigned char *p = f->p;
    f->p += bytes;
    if (kind == 2) return zstd_compressed(f, p, f->p);
    if (size > f->size - f->n) return false;
    if (kind == 1) memset(f->out + f->n, *p, size);
    else if (size) memcpy(f->out + f->n, p, size);
    f->n += size;
    return true;
}

/* The frame's header; its size and that of the window are not needed: the output is the window. */
static bool zstd_head(zstd_frame *f)
{
    static const unsigned char dictionary[] = { 0, 1, 2, 4 }, content[] = { 0, 2, 4, 8 };
    if (f->end - f->p < 5 || zstd_bits(f->p, 4, 0, 32) != (uint32_t)ZSTD_MAGIC) return false;
    unsigned how = f->p[4], single = how >> 5 & 1;
    size_t skip = 5 + !single + dictionary[how & 3] + (how >> 6 ? content[how >> 6] : single);
    if (how & 8 || (size_t)(f->end - f->p) < skip) return false;
    for (unsigned i = 0; i < dictionary[how & 3]; i++)
        if (f->p[5 + !single + i]) return false;
    f->p += skip;
    return true;
}

bool cji_sim_unpack_zstd(const unsigned char *from, size_t bytes, unsigned char *out, size_t size, bool *no_memory)
{
    zstd_frame *f = cji_zalloc(sizeof *f);
    bool last = false;
    *no_memory = !f;
    if (!f) return false;
    f->p = from;
    f->end = from + bytes;
    f->out = out;
    f->size = size;
    memcpy(f->repeat, (size_t[]){ 1, 4, 8 }, sizeof f->repeat);
    bool good = zstd_head(f);
    while (good && !last) good = zstd_block(f, &last);
    good = good && f->n == size;
    cji_free(f, sizeof *f);
    return good;
}
