/* From a spelling to its form.
 *
 * A row is tried first with the words in the manual's order; when no row takes them so, once more as ptxas reads them
 * (tests/oracle has what it takes): the words of the name keep their order, and so do those of each ORDER of sets.def;
 * all else is a set.
 */
#include <string.h>

#include "isa.h"
#include "isa_row.h"
#include "isa_table.h"

uint16_t cji_word_find(const char *word, size_t len)
{
    if (len > 64) return 0xffff;
    for (uint32_t h = cji_isa_word_fnv(word, (uint32_t)len);; h++) {
        uint16_t w = cji_isa_word_hash[h & cji_isa_word_mask];
        if (w == 0xffff) return w;
        uint32_t at = cji_isa_word_at[w], n = cji_isa_word_at[w + 1] - at;
        if (n == len && !memcmp(cji_isa_text + at, word, n)) return w;
    }
}

bool cji_words_read(const char *spelling, size_t len, cji_words *w)
{
    const char *end = spelling + len;
    w->n = 0;
    for (const char *s = spelling;; s++) {
        const char *dot = s < end ? memchr(s, '.', (size_t)(end - s)) : NULL;
        if (!dot) dot = end;
        uint16_t word = w->n < CJI_ISA_WORDS ? cji_word_find(s, (size_t)(dot - s)) : 0xffff;
        if (word == 0xffff) {
            w->bad = s;
            w->bad_len = (size_t)(dot - s);
            return false;
        }
        w->word[w->n++] = word;
        if (dot == end) return true;
        s = dot;
    }
}

/* Index of `word` among a slot's values, -1. */
static int value_index(const cji_isa_slot *s, uint16_t word)
{
    const cji_isa_value *v = &cji_isa_values[s->value];
    for (int i = 0; i < s->count; i++)
        if (v[i].word == word) return i;
    return -1;
}

/* Do the pieces from `p` on spell the words from `k` on?  An optional slot may take its word or leave it to a later
 * piece. */
static bool in_order(const cji_isa_row *r, uint32_t p, const uint16_t *word, uint32_t k, uint32_t n, uint8_t *choice)
{
    for (; p < r->npiece; p++) {
        uint16_t piece = cji_isa_pieces[r->piece + p];
        if (!(piece & CJI_PIECE_SLOT)) {
            if (k == n || word[k] != piece) return false;
            k++;
            continue;
        }
        uint32_t i = piece & CJI_PIECE_MASK;
        const cji_isa_slot *s = &cji_isa_slots[r->slot + i];
        if ((piece & CJI_PIECE_AGAIN) == CJI_PIECE_AGAIN) {
            if (s->optional && !choice[i]) continue;
            if (k == n || cji_isa_values[s->value + choice[i] - s->optional].word != word[k]) return false;
            k++;
            continue;
        }
        int at = k < n ? value_index(s, word[k]) : -1;
        if (s->optional) {
            if (at >= 0) {
                choice[i] = (uint8_t)(at + 1);
                if (in_order(r, p + 1, word, k + 1, n, choice)) return true;
            }
            choice[i] = 0;
            continue;
        }
        if (at < 0) return false;
        choice[i] = (uint8_t)at;
        k++;
    }
    return k == n;
}

/* Does a piece spell that word?  Notes the choice of a slot. */
static bool takes(const cji_isa_row *r, uint16_t piece, uint16_t word, uint8_t *choice)
{
    if (!(piece & CJI_PIECE_SLOT)) return piece == word;
    uint32_t i = piece & CJI_PIECE_MASK;
    const cji_isa_slot *s = &cji_isa_slots[r->slot + i];
    if ((piece & CJI_PIECE_AGAIN) == CJI_PIECE_AGAIN)
        return cji_isa_values[s->value + choice[i] - s->optional].word == word;
    int at = value_index(s, word);
    if (at >= 0) choice[i] = (uint8_t)(at + s->optional);
    return at >= 0;
}

/* May the piece be left out of the spelling? */
static bool leaves_out(const cji_isa_row *r, uint16_t piece, const uint8_t *choice)
{
    if (!(piece & CJI_PIECE_SLOT)) return false;
    uint32_t i = piece & CJI_PIECE_MASK;
    return cji_isa_slots[r->slot + i].optional && !choice[i];
}

/* How many words the name takes, 0: it is not this one's. */
static uint32_t takes_name(const cji_isa_row *r, const uint16_t *word, uint32_t n, uint8_t *choice)
{
    uint32_t k = 0;
    for (uint32_t p = 0; p < r->nname; p++) {
        uint16_t piece = cji_isa_pieces[r->piece + p];
        if (k < n && takes(r, piece, word[k], choice)) k++;
        else if (!leaves_out(r, piece, choice)) return 0;
    }
    return k;
}

/* The words behind the name, each to the first free piece that takes it; words of one ORDER to later and later ones.
 * Mandatory pieces must all be taken at the end. */
static bool any_order(const cji_isa_row *r, const uint16_t *word, uint32_t n, uint8_t *choice)
{
    uint32_t used = (1u << r->nname) - 1, from[16] = { 0 };
    memset(choice, 0, CJI_ISA_SLOTS);
    uint32_t k = takes_name(r, word, n, choice);
    if (!k) return false;
    for (; k < n; k++) {
        uint32_t order = cji_isa_word_order[word[k]], p = order && from[order] > r->nname ? from[order] : r->nname;
        while (p < r->npiece && (used >> p & 1 || !takes(r, cji_isa_pieces[r->piece + p], word[k], choice))) p++;
        if (p == r->npiece) return false;
        used |= 1u << p;
        from[order] = p + 1;
    }
    for (uint32_t p = r->nname; p < r->npiece; p++)
        if (!(used >> p & 1) && !leaves_out(r, cji_isa_pieces[r->piece + p], choice)) return false;
    return true;
}

uint32_t cji_row_next(uint32_t row, const uint16_t *word, uint32_t n)
{
    uint8_t choice[CJI_ISA_SLOTS];
    for (uint32_t i = cji_isa_lead[word[0]]; i < cji_isa_lead[word[0] + 1]; i++) {
        if (cji_isa_by_lead[i] <= row) continue;
        const cji_isa_row *r = &cji_isa_table[cji_isa_by_lead[i]];
        if (in_order(r, 0, word, 0, n, choice)) return cji_row_form(r, choice);
    }
    return CJI_FORM_NONE;
}

uint32_t cji_isa_find(const char *spelling, size_t len)
{
    cji_words w;
    uint8_t choice[CJI_ISA_SLOTS];
    if (!len || !cji_words_read(spelling, len, &w)) return CJI_FORM_NONE;
    uint32_t first = cji_isa_lead[w.word[0]], last = cji_isa_lead[w.word[0] + 1];
    for (uint32_t i = first; i < last; i++) {
        const cji_isa_row *r = &cji_isa_table[cji_isa_by_lead[i]];
        if (in_order(r, 0, w.word, 0, w.n, choice)) return cji_row_form(r, choice);
    }
    for (uint32_t i = first; i < last; i++) {
        const cji_isa_row *r = &cji_isa_table[cji_isa_by_lead[i]];
        if (any_order(r, w.word, w.n, choice)) return cji_row_form(r, choice);
    }
    return CJI_FORM_NONE;
}
