/* Why a spelling is no instruction: one sentence with the fix. */
#include <string.h>

#include "base/mem.h"
#include "isa.h"
#include "isa_ids.h"
#include "isa_row.h"
#include "isa_table.h"

static int word_len(uint16_t w) { return cji_isa_word_at[w + 1] - cji_isa_word_at[w]; }
static const char *word_text(uint16_t w) { return cji_isa_text + cji_isa_word_at[w]; }

/* How many edits (insert, delete, replace, swap neighbours) apart, up to 3. */
static int edits(const char *a, int na, const char *b, int nb)
{
    enum { MOST = 40 };
    if (na > MOST || nb > MOST || na - nb > 2 || nb - na > 2) return 3;
    int row[3][MOST + 1];
    for (int j = 0; j <= nb; j++) row[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[na % 3][nb];
}

static bool leads_a_row(uint16_t word) { return cji_isa_lead[word] < cji_isa_lead[word + 1]; }

/* Is `word` spelled in one of the rows that begin with `lead`? */
static bool in_rows_of(uint16_t lead, uint16_t word)
{
    for (uint32_t i = cji_isa_lead[lead]; i < cji_isa_lead[lead + 1]; i++) {
        const cji_isa_row *r = &cji_isa_table[cji_isa_by_lead[i]];
        for (uint32_t p = 0; p < r->npiece; p++)
            if (cji_isa_pieces[r->piece + p] == word) return true;
        for (uint32_t k = 0; k < r->nslot; k++) {
            const cji_isa_slot *s = &cji_isa_slots[r->slot + k];
            for (uint32_t v = 0; v < s->count; v++)
                if (cji_isa_values[s->value + v].word == word) return true;
        }
    }
    return false;
}

/* The nearest word that leads a row (lead 0xffff) or stands in the rows of `lead`; 0xffff when none is near. */
static uint16_t nearest(const char *text, size_t len, uint16_t lead)
{
    uint16_t best = 0xffff;
    int distance = len < 4 ? 2 : 3;
    for (uint32_t w = 0; w < cji_isa_word_count; w++) {
        int d = edits(text, (int)len, word_text((uint16_t)w), word_len((uint16_t)w));
        if (d >= distance || !(lead == 0xffff ? leads_a_row((uint16_t)w) : in_rows_of(lead, (uint16_t)w))) continue;
        best = (uint16_t)w;
        distance = d;
    }
    return best;
}

/* How far a row gets with the words, and where it stops. */
typedef struct attempt { uint32_t row, taken, piece; uint8_t choice[CJI_ISA_SLOTS]; } attempt;

static int index_of(const cji_isa_slot *s, uint16_t word)
{
    for (int i = 0; i < s->count; i++)
        if (cji_isa_values[s->value + i].word == word) return i;
    return -1;
}

/* Takes words into free pieces in any order; `piece` is the first mandatory one that stays empty (npiece: none). */
static void try_row(uint32_t row, const uint16_t *word, uint32_t n, attempt *a)
{
    const cji_isa_row *r = &cji_isa_table[row];
    uint32_t used = 0;
    a->row = row;
    a->taken = 0;
    memset(a->choice, 0, sizeof a->choice);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t p = 0; p < r->npiece; p++) {
            uint16_t piece = cji_isa_pieces[r->piece + p];
            uint32_t i = piece & CJI_PIECE_MASK;
            const cji_isa_slot *s = piece & CJI_PIECE_SLOT ? &cji_isa_slots[r->slot + i] : NULL;
            bool again = (piece & CJI_PIECE_AGAIN) == CJI_PIECE_AGAIN;
            int at = !s      ? piece == word[k] ? 0 : -1
                     : again ? cji_isa_values[s->value + a->choice[i] - s->optional].word == word[k] ? 0 : -1
                             : index_of(s, word[k]);
            if (used >> p & 1 || at < 0) continue;
            if (s && !again) a->choice[i] = (uint8_t)(at + s->optional);
            used |= 1u << p;
            a->taken++;
            break;
        }
    }
    for (a->piece = 0; a->piece < r->npiece; a->piece++) {
        uint16_t piece = cji_isa_pieces[r->piece + a->piece];
        bool optional = (piece & CJI_PIECE_SLOT) && cji_isa_slots[r->slot + (piece & CJI_PIECE_MASK)].optional;
        if (!(used >> a->piece & 1) && !optional) break;
    }
}

static const char *kind_of_slot(const cji_isa_slot *s)
{
    const cji_isa_value *v = &cji_isa_values[s->value];
    switch (v->word) {
    case CJI_W_RN: case CJI_W_RNI: return "a rounding mode";
    case CJI_W_APPROX: return "a rounding mode or .approx";
    case CJI_W_EQ: return "a comparison";
    case CJI_W_CTA: return "a scope";
    case CJI_W_LO: return "a half";
    default: break;
    }
    if (v->cls != CJI_ISA_ANY) return "a type";
    return "one of these";
}

/* Spells the row with what was chosen and value `v` in the open slot. */
static void say_with(cji_line *t, const attempt *a, uint32_t slot, uint32_t v)
{
    const cji_isa_row *r = &cji_isa_table[a->row];
    for (uint32_t p = 0; p < r->npiece; p++) {
        uint16_t piece = cji_isa_pieces[r->piece + p];
        uint16_t w = piece;
        if (piece & CJI_PIECE_SLOT) {
            uint32_t i = piece & CJI_PIECE_MASK;
            const cji_isa_slot *s = &cji_isa_slots[r->slot + i];
            if (i != slot && s->optional && !a->choice[i]) continue;
            w = cji_isa_values[s->value + (i == slot ? v : (uint32_t)(a->choice[i] - s->optional))].word;
        }
        cji_say(t, "%s%.*s", p ? "." : "", word_len(w), word_text(w));
    }
}

/* Is a word of the instruction's name missing?  Then another instruction is meant, or none. */
static bool lacks_name(const attempt *a)
{
    const cji_isa_row *r = &cji_isa_table[a->row];
    return a->piece > 0 && a->piece < r->nname && !(cji_isa_pieces[r->piece + a->piece] & CJI_PIECE_SLOT);
}

/* The words that can stand behind `lead` in a name. */
static void say_names(cji_line *t, uint16_t lead, const char *spelling, size_t len)
{
    uint16_t shown[8];
    uint32_t n = 0;
    cji_say(t, "no instruction \"%.*s\": %.*s wants ", (int)len, spelling, word_len(lead), word_text(lead));
    for (uint32_t i = cji_isa_lead[lead]; i < cji_isa_lead[lead + 1]; i++) {
        const cji_isa_row *r = &cji_isa_table[cji_isa_by_lead[i]];
        uint16_t w = r->nname > 1 ? cji_isa_pieces[r->piece + 1] : CJI_PIECE_SLOT;
        uint32_t k = 0;
        while (k < n && shown[k] != w) k++;
        if (w & CJI_PIECE_SLOT || k < n) continue;
        if (n == 8) { cji_say(t, ", ..."); return; }
        shown[n] = w;
        cji_say(t, "%s.%.*s", n++ ? ", " : "", word_len(w), word_text(w));
    }
}

static void say_missing(cji_line *t, const attempt *a, const char *spelling, size_t len)
{
    const cji_isa_row *r = &cji_isa_table[a->row];
    uint16_t piece = cji_isa_pieces[r->piece + a->piece];
    cji_say(t, "no instruction \"%.*s\": ", (int)len, spelling);
    for (uint32_t i = 0; i < r->nop; i++)
        cji_say(t, "%s%.*s", i ? "." : "", word_len(cji_isa_pieces[r->piece + i]),
                word_text(cji_isa_pieces[r->piece + i]));
    if (!(piece & CJI_PIECE_SLOT)) { cji_say(t, " wants .%.*s", word_len(piece), word_text(piece)); return; }
    uint32_t slot = piece & CJI_PIECE_MASK;
    const cji_isa_slot *s = &cji_isa_slots[r->slot + slot];
    cji_say(t, " wants %s: ", kind_of_slot(s));
    uint32_t shown = s->count > 6 ? 5 : s->count;
    for (uint32_t v = 0; v < shown; v++) {
        if (v) cji_say(t, ", ");
        say_with(t, a, slot, v);
    }
    if (shown < s->count) cji_say(t, ", ...");
}

cj_status cji_isa_explain(const char *spelling, size_t len, char *out, size_t size)
{
    cji_line t = { out, size, 0 };
    if (size) out[0] = 0;
    const char *dot = len ? memchr(spelling, '.', len) : NULL;
    size_t head = dot ? (size_t)(dot - spelling) : len;
    uint16_t lead = cji_word_find(spelling, head);
    if (!len) { cji_say(&t, "no instruction is named"); return CJ_EUNKNOWN; }
    if (lead == 0xffff || !leads_a_row(lead)) {
        uint16_t near = nearest(spelling, head, 0xffff);
        cji_say(&t, "no instruction \"%.*s\"", (int)head, spelling);
        if (near != 0xffff) cji_say(&t, "; did you mean %.*s", word_len(near), word_text(near));
        return CJ_EUNKNOWN;
    }
    /* a word that no row of this instruction has */
    for (const char *s = spelling + head, *end = spelling + len; s < end;) {
        const char *next = memchr(s + 1, '.', (size_t)(end - s - 1));
        size_t n = (size_t)((next ? next : end) - s - 1);
        uint16_t w = cji_word_find(s + 1, n);
        if (w == 0xffff || !in_rows_of(lead, w)) {
            uint16_t near = nearest(s + 1, n, lead);
            cji_say(&t, "no modifier .%.*s in \"%.*s\"", (int)n, s + 1, (int)len, spelling);
            if (near != 0xffff) cji_say(&t, "; did you mean .%.*s", word_len(near), word_text(near));
            return CJ_EUNKNOWN;
        }
        s = next ? next : end;
    }
    cji_words w;
    if (!cji_words_read(spelling, len, &w)) {
        cji_say(&t, "\"%.*s\" has too many modifiers", (int)len, spelling);
        return CJ_EUNKNOWN;
    }
    /* the row that takes most of the words, and of those one that only lacks something */
    attempt best = { 0, 0, 0, { 0 } };
    bool names = false;
    for (uint32_t i = cji_isa_lead[lead]; i < cji_isa_lead[lead + 1]; i++) {
        attempt a;
        try_row(cji_isa_by_lead[i], w.word, w.n, &a);
        if (lacks_name(&a)) names |= a.taken == w.n;
        else if (a.taken > best.taken) best = a;
    }
    const cji_isa_row *r = &cji_isa_table[best.row];
    if (best.taken == w.n && best.piece < r->npiece) { say_missing(&t, &best, spelling, len); return CJ_EUNKNOWN; }
    if (!best.taken && names) { say_names(&t, lead, spelling, len); return CJ_EUNKNOWN; }
    /* all words are known and nothing is missing: they do not go together */
    cji_say(&t, "no instruction \"%.*s\": these modifiers do not go together, or not in this order", (int)len,
            spelling);
    return CJ_EUNKNOWN;
}
