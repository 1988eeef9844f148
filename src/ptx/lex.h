/* The words of PTX text, one at a time.
 *
 * The text need not end with a NUL; nothing is copied and nothing allocated.  The current token's bytes are s[0 ..
 * n-1], inside the text.  What cannot be a token is CJI_TOK_BAD with a sentence in `bad`; the lexer then stays where
 * it is. */
#ifndef CJI_LEX_H
#define CJI_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tokens of one character are that character. */
typedef enum cji_tok {
    CJI_TOK_END = 0,
    CJI_TOK_BAD = 128,
    CJI_TOK_WORD,      /* identifier: name, %r1, $L__BB0_1, _ */
    CJI_TOK_DOT,       /* .word, the dot included */
    CJI_TOK_INT,       /* value in u; is_unsigned: U suffix, or above INT64_MAX */
    CJI_TOK_F32,       /* 0f3f800000: its bits in u */
    CJI_TOK_F64,       /* 0d3ff0000000000000 or 1.5: its bits in u */
    CJI_TOK_STRING,    /* "...", quotes excluded; PTX has no escapes */
    CJI_TOK_SHL, CJI_TOK_SHR, CJI_TOK_LE, CJI_TOK_GE, CJI_TOK_EQ, CJI_TOK_NE, CJI_TOK_AND, CJI_TOK_OR, CJI_TOK_SCOPE
} cji_tok;

typedef struct cji_lex {
    const char *p, *end;   /* what is not read yet */
    const char *s;         /* the current token */
    uint32_t n;
    uint32_t line;         /* line of p, from 1 */
    uint32_t tok_line;     /* line of the current token */
    uint8_t kind;          /* cji_tok */
    bool is_unsigned;
    uint64_t u;
    char bad[96];
} cji_lex;

/* Stands before the first token: call cji_lex_next. NULs at the very end of the text are left out. */
void cji_lex_init(cji_lex *x, const char *text, size_t bytes);

/* Reads the next token and returns its kind. */
uint8_t cji_lex_next(cji_lex *x);

/* The first byte behind the current token, comments and blanks skipped; 0 at the end. Nothing is consumed. */
char cji_lex_peek(cji_lex *x);

/* The current word is an instruction's first: takes its modifiers (".global", "L1::evict_last") too.  When blanks
 * stand before a dot, the parts are put together in `room`.  False: longer than that, or a stray dot (`bad` says so).
 * */
bool cji_lex_mnemonic(cji_lex *x, char *room, size_t size);

/* The current token is '{': skips to behind the brace that closes it, strings and comments respected.  False: the
 * text ends first. */
bool cji_lex_skip_block(cji_lex *x);

bool cji_lex_is_word(char c);   /* may stand inside an identifier */

#endif
