/* From a spelling to its form.
 *
 * A row is tried first with the words in the manual's order; when no row takes them so, once more with its modifiers
 * in any order, as ptxas reads them (tests/oracle has what it takes): modifiers that may be left out go anywhere
 * behind the op; in the memory instructions and setp everything does but the types, which keep their order
 * everywhere.
 */
#include <string.h>

#include "isa.h"
#include "isa_ids.h"
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

static bool is_type(uint16_t word)
{
    return cji_type_find(cji_isa_text + cji_isa_word_at[word],
                         (size_t)(cji_isa_word_at[word + 1] - cji_isa_word_at[word])) > 0;
}

/* Must the piece keep its place among those that must? */
static bool keeps_place(const cji_isa_row *r, uint16_t piece)
{
    bool moves =
        r->op == CJI_OP_LD || r->op == CJI_OP_ST || r->op == CJI_OP_ATOM || r->op == CJI_OP_RED || r->op == CJI_OP_SETP;
    if (!(piece & CJI_PIECE_SLOT)) return !moves || is_type(piece);
    if ((piece & CJI_PIECE_AGAIN) == CJI_PIECE_AGAIN) return true;
    const cji_isa_slot *s = &cji_isa_slots[r->slot + (piece & CJI_PIECE_MASK)];
    return !s->optional && (!moves || is_type(cji_isa_values[s->value].word));
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

/* Each word goes to the next piece that keeps its place, or to a free one; mandatory pieces must all be taken at the
 * end. */
static bool any_order(const cji_isa_row *r, const uint16_t *word, uint32_t n, uint8_t *choice)
{
    uint32_t used = (1u << r->nop) - 1;
    memset(choice, 0, CJI_ISA_SLOTS);
    if (n < r->nop) return false;
    for (uint32_t k = 0; k < r->nop; k++)
        if (cji_isa_pieces[r->piece + k] != word[k]) return false;
    for (uint32_t k = r->nop; k < n; k++) {
        bool taken = false, next = true;
        for (uint32_t p = r->nop; p < r->npiece && !taken; p++) {
            uint16_t piece = cji_isa_pieces[r->piece + p];
            if (used >> p & 1) continue;
            if (keeps_place(r, piece)) {
                if (!next) continue;
                next = false;
            }
            taken = takes(r, piece, word[k], choice);
            if (taken) used |= 1u << p;
        }
        if (!taken) return false;
    }
    for (uint32_t p = r->nop; p < r->npiece; p++) {
        if (used >> p & 1) continue;
        uint16_t piece = cji_isa_pieces[r->piece + p];
        if (!(piece & CJI_PIECE_SLOT)) return false;
        uint32_t i = piece & CJI_PIECE_MASK;
        if (!cji_isa_slots[r->slot + i].optional || choice[i]) return false;
    }
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
