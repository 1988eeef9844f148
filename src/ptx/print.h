/* Growing text that the printer's files write with: room is asked for once a line. */
#ifndef CJI_PRINT_H
#define CJI_PRINT_H

#include <string.h>

#include "ptx/build.h"

static inline char *cji_put_text(char *p, const char *s, size_t n) { return (char *)memcpy(p, s, n) + n; }
char *cji_put_u32(char *p, uint32_t x);
char *cji_put_i64(char *p, int64_t x);
char *cji_put_hex(char *p, uint64_t x, unsigned digits);

/* What is printed beside the instructions.  The numbers of m->files, 0: no .loc names it; n 0: no .loc is printed. */
typedef struct cji_print_files { uint32_t *number; size_t n; bool comments; } cji_print_files;
/* false without memory */
bool cji_print_number_files(const cj_ptx *m, unsigned flags, cji_print_files *files);
void cji_print_files_free(cji_print_files *files);

/* PTX escapes nothing: what a file's name has there. */
static inline char cji_print_file_char(char c)
{
    return c == '"' ? '\'' : c == '\n' || c == '\r' || c & 0x80 ? '?' : c;
}

/* A register's declared type: PTX has no .bf16 registers. */
unsigned cji_print_type(unsigned type);
/* declarations, one a line */
void cji_print_vars(const cj_ptx *m, const uint32_t *list, size_t n, bool own, cji_text *out);
void cji_print_var(const cj_ptx *m, const cji_var *v, bool semicolon, cji_text *out);
void cji_print_head(const cj_fn *f, bool declaration, cji_text *out);
/* the return at the end of a body that has none */
void cji_print_return(cji_text *out);
void cji_print_body(const cj_fn *f, const cji_print_files *files, cji_text *out);
/* a body up to its first record */
void cji_print_declared(const cj_fn *f, cji_text *out);
/* a module up to its first definition */
void cji_print_front(const cj_ptx *m, unsigned flags, const cji_print_files *files, cji_text *out);
/* nothing for NULL or a declaration */
void cji_print_definition(const cj_fn *f, const cji_print_files *files, cji_text *out);

/* With CJ_PRINT_LINES: has the record a .loc line of its own, in front of it?  `loc` is that of the latest such line.
 * */
static inline bool cji_print_has_loc(const cji_ins *x, uint32_t loc)
{
    return x->form < CJI_INS_PSEUDO && x->loc && x->loc != loc;
}

/* Do instructions have .loc lines of their own?  Debug data has all that it needs. */
static inline bool cji_print_lines(const cj_ptx *m, unsigned flags) { return flags & CJ_PRINT_LINES && !m->debug; }

/* The functions of a module in the order of their definitions, NULL between them. */
typedef struct cji_print_list { cj_fn *const *fn; size_t n; cj_fn **own; } cji_print_list;
/* false without memory */
bool cji_print_order(const cj_ptx *m, cji_print_list *list);
void cji_print_order_free(cji_print_list *list);

#endif
