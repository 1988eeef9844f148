/* Changes an input at random: bytes, runs, numbers; in text words, lines and statements (fuzz.h). */
#include "tests/fuzz/fuzz.h"

#include <string.h>

uint32_t cji_fuzz_below(cji_fuzz_random *r, uint32_t n)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return n ? (uint32_t)(r->state >> 32) % n : 0;
}

/* Numbers at the edges of types and limits. */
static const uint64_t edges[] = { 0,
                                  1,
                                  2,
                                  31,
                                  32,
                                  33,
                                  127,
                                  128,
                                  255,
                                  256,
                                  4095,
                                  4096,
                                  32764,
                                  32765,
                                  65535,
                                  65536,
                                  0x7fffffff,
                                  0x80000000,
                                  0xffffffff,
                                  0x100000000,
                                  0x7fffffffffffffff,
                                  0x8000000000000000,
                                  0xffffffffffffffff };
enum { EDGES = sizeof edges / sizeof *edges };

/* Words that hurt the reader. */
static const char *const words[] = {
    "{",
    "}",
    "{{{{",
    "}}}}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    ":",
    "@",
    "!",
    "|",
    "_",
    "%",
    "$",
    "\"",
    "/*",
    "*/",
    "//",
    "\n",
    "\\",
    "0x",
    "0f",
    "-",
    "+",
    "18446744073709551615",
    "99999999999999999999999",
    "0f7fffffff",
    "1e999",
    "WARP_SZ",
    "generic(",
    ".reg .b32 %r<65535>;",
    ".reg .b32 %r<4294967295>;",
    ".param .b32 x<4096>;",
    ".global .b8 y[4294967295] = {1};",
    ".local .align 16 .b8 l[4294967295];",
    ".shared .b8 s[49153];",
    ".param .align 2147483648 .b8 p[4];",
    ".entry",
    ".func",
    ".shared",
    ".local",
    ".param",
    ".const",
    ".callprototype",
    ".branchtargets",
    ".loc 1 2 3",
    ".file 1 \"a\"",
    ".version 8.0",
    ".version 1.4",
    ".section .x {",
    ".alias a, b;",
    ".extern",
    ".visible",
    ".weak",
    ".common",
    ".align 4294967296",
    ".maxntid 4294967295",
    ".reqntid 0",
    ".maxnreg 1",
    "%tid.x",
    "%r0",
    "%r1",
    "%rd1",
    "%f1",
    "%fd1",
    "%p1",
    "%clock64",
    "$L__BB0_2",
    "bra",
    "call",
    "ret;",
    "exit;",
    "trap;",
    "bar.sync 0;",
    "bar.sync 0, 33;",
    "@%p1 bra",
    "shfl.sync.idx.b32",
    "vote.sync.ballot.b32",
    "atom.global.add.u32",
    "ld.local.v4.u32",
    "st.shared.u64",
    "cvta.to.global.u64",
    "cp.async.ca.shared.global",
    "mbarrier.init.shared.b64",
    "nanosleep.u32",
    "brx.idx",
    ".v2",
    ".v4",
    ".b128",
    "::",
    "\xff",
    "\x01",
    "1?2:3",
    "((((((((((((((((((((((((((((((((((((",
};
enum { WORDS = sizeof words / sizeof *words };

/* Puts n bytes in place of `gone` at `at`. */
static size_t replace(uint8_t *data, size_t size, size_t room, size_t at, size_t gone, const void *put, size_t n)
{
    if (at > size) at = size;
    if (gone > size - at) gone = size - at;
    if (size - gone + n > room) return size;
    memmove(data + at + n, data + at + gone, size - at - gone);
    if (n) memcpy(data + at, put, n);
    return size - gone + n;
}

/* A piece of `from` that ends with `end` or at most `most` bytes further. */
static size_t piece(cji_fuzz_random *r, const uint8_t *from, size_t size, uint8_t end, size_t most, size_t *at)
{
    *at = size ? cji_fuzz_below(r, (uint32_t)size) : 0;
    while (end && *at && from[*at - 1] != end) --*at;
    size_t n = 0;
    while (*at + n < size && n < most && (!n || !end || from[*at + n - 1] != end)) n++;
    return n;
}

static size_t mutate_bytes(cji_fuzz_random *r, uint8_t *data, size_t size, size_t room, const cji_fuzz_seed *other)
{
    size_t at = cji_fuzz_below(r, (uint32_t)size), from, n = 1 + cji_fuzz_below(r, 40);
    uint64_t edge = edges[cji_fuzz_below(r, EDGES)];
    switch (cji_fuzz_below(r, 7)) {
    case 0: data[at] = (uint8_t)cji_fuzz_below(r, 256); return size;
    case 1: data[at] ^= (uint8_t)(1 << cji_fuzz_below(r, 8)); return size;
    case 2: return replace(data, size, room, at, n, NULL, 0);
    case 3: {
        size_t width = (size_t)1 << cji_fuzz_below(r, 4);
        if (cji_fuzz_below(r, 2)) at = at / width * width;
        return at + width <= size ? replace(data, size, room, at, width, &edge, width) : size;
    }
    case 4: data[at] = (uint8_t)(data[at] + 1 - 2 * (int)cji_fuzz_below(r, 2)); return size;
    case 5:
        if (n > size - at) n = size - at;
        return size + n <= room ? replace(data, size, room, at, 0, memcpy(data + room, data + at, n), n) : size;
    default:
        n = piece(r, other->data, other->size, 0, n, &from);
        return replace(data, size, room, at, cji_fuzz_below(r, 2) ? n : 0, other->data + from, n);
    }
}

static size_t mutate_text(cji_fuzz_random *r, uint8_t *data, size_t size, size_t room, const cji_fuzz_seed *other)
{
    size_t at = cji_fuzz_below(r, (uint32_t)size), from, n, gone;
    static const uint8_t ends[] = { '\n', ';', ' ', ',' };
    uint8_t end = ends[cji_fuzz_below(r, sizeof ends)];
    const char *word = words[cji_fuzz_below(r, WORDS)];
    switch (cji_fuzz_below(r, 5)) {
    case 0: return replace(data, size, room, at, 0, word, strlen(word));
    case 1: /* a statement of another text in place of one, or beside it */
        n = piece(r, other->data, other->size, end, 400, &from);
        gone = piece(r, data, size, end, 400, &at);
        return replace(data, size, room, at, cji_fuzz_below(r, 2) ? gone : 0, other->data + from, n);
    case 2: /* one of its own twice */
        n = piece(r, data, size, end, 400, &from);
        return replace(data, size, room, at, 0, memcpy(data + room, data + from, n), n);
    case 3: /* or not at all */
        gone = piece(r, data, size, end, 400, &at);
        return replace(data, size, room, at, gone, NULL, 0);
    default: /* another number */
        while (at < size && (data[at] < '0' || data[at] > '9')) at++;
        for (gone = 0; at + gone < size && data[at + gone] >= '0' && data[at + gone] <= '9';) gone++;
        uint64_t edge = edges[cji_fuzz_below(r, EDGES)];
        char digits[20];
        n = sizeof digits;
        do digits[--n] = (char)('0' + edge % 10);
        while (edge /= 10);
        return replace(data, size, room, at, gone, digits + n, sizeof digits - n);
    }
}

size_t cji_fuzz_mutate(cji_fuzz_random *r, uint8_t *data, size_t size, size_t room, const cji_fuzz_seed *other,
                       bool is_text)
{
    for (uint32_t i = 0, n = 1 + cji_fuzz_below(r, 4); i < n; i++) {
        if (!size) return replace(data, size, room, 0, 0, other->data, other->size < room ? other->size : room);
        bool words_too = is_text && cji_fuzz_below(r, 4);
        size = (words_too ? mutate_text : mutate_bytes)(r, data, size, room, other);
    }
    return size;
}
