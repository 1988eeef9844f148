/* LZ4 blocks: sequences of a token, literals, and a copy of what is before (LZ4 block format, Y. Collet). */
#include <stdint.h>
#include <string.h>

#include "sim/module/sim_unpack.h"

typedef struct sim_lz4 { const unsigned char *p, *end; } sim_lz4;

/* A length of which 15 says that bytes follow: 255 each, and one that is less. */
static bool sim_lz4_length(sim_lz4 *s, size_t *length)
{
    unsigned char more;
    if (*length != 15) return true;
    do {
        if (s->p == s->end || *length > SIZE_MAX - 255) return false;
        more = *s->p++;
        *length += more;
    } while (more == 255);
    return true;
}

bool cji_sim_unpack_lz4(const unsigned char *from, size_t bytes, unsigned char *out, size_t size)
{
    sim_lz4 s = { from, from + bytes };
    size_t n = 0;
    while (s.p < s.end) {
        unsigned token = *s.p++;
        size_t literals = token >> 4, copied = token & 15;
        if (!sim_lz4_length(&s, &literals) || literals > (size_t)(s.end - s.p) || literals > size - n) return false;
        if (literals) memcpy(out + n, s.p, literals);
        n += literals;
        s.p += literals;
        if (s.p == s.end) return n == size;
        if (s.end - s.p < 2) return false;
        size_t back = s.p[0] | (size_t)s.p[1] << 8;
        s.p += 2;
        if (!sim_lz4_length(&s, &copied) || !back || back > n) return false;
        if (copied > size - n || size - n - copied < 4) return false;
        copied += 4;
        for (size_t i = 0; i < copied; i++) out[n + i] = out[n + i - back];
        n += copied;
    }
    return false;   /* the last sequence has literals only */
}
