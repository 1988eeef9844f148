/* Rows and their choices, between the files of the instruction table.  A choice is one byte for each slot: the
 * value's index, where an optional slot counts "left out" as 0. */
#ifndef CJI_ISA_ROW_H
#define CJI_ISA_ROW_H

#include "isa_table.h"

uint32_t cji_row_form(const cji_isa_row *r, const uint8_t *choice);
void cji_row_choices(const cji_isa_row *r, uint32_t form, uint8_t *choice);

/* The form that these words (in the manual's order) spell in the first row behind `row`, CJI_FORM_NONE. */
uint32_t cji_row_next(uint32_t row, const uint16_t *word, uint32_t n);

/* The words of a spelling, looked up; false when one of them is in no row or there are too many: *bad is then that
 * word. */
typedef struct cji_words { uint16_t word[24]; uint32_t n; const char *bad; size_t bad_len; } cji_words;
bool cji_words_read(const char *spelling, size_t len, cji_words *w);

/* A word's number, 0xffff when no row has it. */
uint16_t cji_word_find(const char *word, size_t len);

#endif
