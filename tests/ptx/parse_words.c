/* The lexer: what the words of PTX text are, what they are worth, and what cannot be one. */
#include "ptx/lex.h"
#include "../tap.h"

#include <string.h>

static const struct { const char *text; uint8_t kind; uint64_t u; const char *word;
} words[] = {
    { "%r1", CJI_TOK_WORD, 0, "%r1" },
    { "  $L__BB0_1:", CJI_TOK_WORD, 0, "$L__BB0_1" },
    { "_", CJI_TOK_WORD, 0, "_" },
    { "% 3", '%', 0, "%" },
    { ".reg .b32", CJI_TOK_DOT, 0, ".reg" },
    { "/* a */ // b\n\t.loc", CJI_TOK_DOT, 0, ".loc" },
    { "/", '/', 0, "/" },
    { "::", CJI_TOK_SCOPE, 0, "::" },
    { "<<", CJI_TOK_SHL, 0, "<<" },
    { ">>", CJI_TOK_SHR, 0, ">>" },
    { "<=", CJI_TOK_LE, 0, "<=" },
    { ">=", CJI_TOK_GE, 0, ">=" },
    { "==", CJI_TOK_EQ, 0, "==" },
    { "!=", CJI_TOK_NE, 0, "!=" },
    { "&&", CJI_TOK_AND, 0, "&&" },
    { "||", CJI_TOK_OR, 0, "||" },
    { "!p", '!', 0, "!" },
    { "|q", '|', 0, "|" },
    { "0", CJI_TOK_INT, 0, "0" },
    { "42", CJI_TOK_INT, 42, "42" },
    { "42U", CJI_TOK_INT, 42, "42U" },
    { "0777", CJI_TOK_INT, 0777, "0777" },
    { "0x7fFF", CJI_TOK_INT, 0x7fff, "0x7fFF" },
    { "0XffU", CJI_TOK_INT, 0xff, "0XffU" },
    { "0b1011", CJI_TOK_INT, 11, "0b1011" },
    { "18446744073709551615", CJI_TOK_INT, UINT64_MAX, "18446744073709551615" },
    { "0f3f800000", CJI_TOK_F32, 0x3f800000, "0f3f800000" },
    { "0FBF800000", CJI_TOK_F32, 0xbf800000, "0FBF800000" },
    { "0d3ff0000000000000", CJI_TOK_F64, 0x3ff0000000000000, "0d3ff0000000000000" },
    { "1.5", CJI_TOK_F64, 0x3ff8000000000000, "1.5" },
    { "1.", CJI_TOK_F64, 0x3ff0000000000000, "1." },
    { ".5;", CJI_TOK_F64, 0x3fe0000000000000, ".5" },
    { "1e3", CJI_TOK_F64, 0x408f400000000000, "1e3" },
    { "1E-300 ", CJI_TOK_F64, 0x01a56e1fc2f8f359, "1E-300" },
    { "0.1", CJI_TOK_F64, 0x3fb999999999999a, "0.1" },
    { "\"a\\n\" ", CJI_TOK_STRING, 0, "a\\n" },
    { "\"a\\\"b\" ", CJI_TOK_STRING, 0, "a\\" },
    { "", CJI_TOK_END, 0, "" },
    { " \n// only a comment", CJI_TOK_END, 0, "" },
};

static const struct { const char *text, *why;
} wrong[] = {
    { "08", "above 7" },
    { "0x", "without digits" },
    { "0b2", "without digits" },
    { "0b12", "letter inside" },
    { "12ab", "letter inside" },
    { "18446744073709551616", "64 bits" },
    { "0x10000000000000000", "64 bits" },
    { "0f3f80000", "8 hexadecimal" },
    { "0f3f8000001", "8 hexadecimal" },
    { "0d3ff0", "16 hexadecimal" },
    { "1e", "without digits" },
    { "1e+", "without digits" },
    { "1.5f", "letter inside" },
    { "\"abc", "closing quote" },
    { "\"abc\n\"", "closing quote" },
    { "/* abc", "does not end" },
    { "/*/", "does not end" },
    { "# 1 \"a.c\"", "preprocessor" },
    { "\\", "'\\'" },
    { "\x80", "0x80" },
    { "\xef\xbb\xbf.version", "0xef" },
    { "\x01", "0x01" },
    { ". reg", "without a word" },
    { "$ ", "only '$'" },
    { "0.00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
      "000000000000000000000000000000000001",
      "120" },
};

static const struct { const char *text, *want; } mnemonics[] = {
    { "ret;", "ret" },
    { "ld.global.L1::evict_last.u32 a", "ld.global.L1::evict_last.u32" },
    { "mov .u32 a", "mov.u32" },
    { "cp.async /* x */ .bulk\n .tensor a", "cp.async.bulk.tensor" },
    { "st.async.mbarrier::complete_tx::bytes [a]", "st.async.mbarrier::complete_tx::bytes" },
    { "bra// to\nL;", "bra" },
    { "call \n(a)", "call" },
};

int main(void)
{
    cji_lex x;
    tap_plan(0);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        cji_lex_init(&x, words[i].text, strlen(words[i].text));
        uint8_t kind = cji_lex_next(&x);
        bool same = kind == words[i].kind && x.n == strlen(words[i].word) && memcmp(x.s, words[i].word, x.n) == 0;
        bool number = kind == CJI_TOK_INT || kind == CJI_TOK_F32 || kind == CJI_TOK_F64;
        tap_ok(same && (!number || x.u == words[i].u), "word %zu: %s", i, words[i].word);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cji_lex_init(&x, wrong[i].text, strlen(wrong[i].text));
        uint8_t kind = cji_lex_next(&x);
        tap_ok(kind == CJI_TOK_BAD && strstr(x.bad, wrong[i].why), "wrong word %zu: %s", i,
               kind == CJI_TOK_BAD ? x.bad : "accepted");
        tap_ok(cji_lex_next(&x) == CJI_TOK_BAD, "wrong word %zu stays wrong", i);
    }
    for (size_t i = 0; i < sizeof mnemonics / sizeof *mnemonics; i++) {
        char room[64];
        cji_lex_init(&x, mnemonics[i].text, strlen(mnemonics[i].text));
        cji_lex_next(&x);
        cji_lex_peek(&x);   /* as a reader does that looks for a label */
        bool fine = cji_lex_mnemonic(&x, room, sizeof room);
        tap_ok(fine && x.n == strlen(mnemonics[i].want) && !memcmp(x.s, mnemonics[i].want, x.n), "instruction %s",
               mnemonics[i].want);
    }

    static const char lines[] = "a\nb /* \n\n */ c\n// x\nd \"s\" e";
    static const uint32_t at[] = { 1, 2, 4, 6, 6, 6 };
    cji_lex_init(&x, lines, sizeof lines);   /* with its NUL, which is left out */
    for (size_t i = 0; i < 6; i++) {
        cji_lex_next(&x);
        tap_is_int(x.tok_line, at[i], "line of word %zu", i + 1);
    }
    tap_is_int(cji_lex_next(&x), CJI_TOK_END, "a NUL at the very end is no byte of the text");

    static const char block[] = "{ a { \"}\" // }\n } /* } */ }\nb";
    cji_lex_init(&x, block, sizeof block - 1);
    cji_lex_next(&x);
    tap_ok(cji_lex_skip_block(&x) && cji_lex_next(&x) == CJI_TOK_WORD && *x.s == 'b' && x.tok_line == 3,
           "a block is skipped whole");
    cji_lex_init(&x, block, sizeof block - 4);
    cji_lex_next(&x);
    tap_ok(!cji_lex_skip_block(&x), "a block that does not end is reported");
    cji_lex_init(&x, "a b", 3);
    cji_lex_next(&x);
    tap_ok(cji_lex_peek(&x) == 'b' && *x.s == 'a', "peeking consumes nothing");
    return tap_done();
}
