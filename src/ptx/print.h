/* Growing text that the printer's files write with: room is asked for once a line. */
#ifndef CJI_PRINT_H
#define CJI_PRINT_H

#include <string.h>

#include "ptx/build.h"

static inline char *cji_put_text(char *p, const char *s, size_t n) { return (char *)memcpy(p, s, n) + n; }
char *cji_put_u32(char *p, uint32_t x);
char *cji_put_i64(char *p, int64_t x);
char *cji_put_hex(char *p, uint64_t x, unsigned digits);

/* A register's declared type: PTX has no .bf16 registers. */
unsigned cji_print_type(unsigned type);
void cji_print_vars(const cj_ptx *m, const uint32_t *list, size_t n, bool own, cji_text *out);   /* declarations, one a line */
void cji_print_var(const cj_ptx *m, const cji_var *v, bool semicolon, cji_text *out);
void cji_print_head(const cj_fn *f, bool declaration, cji_text *out);
void cji_print_return(cji_text *out);                                                              /* the return at the end of a body that has none */
void cji_print_body(const cj_fn *f, unsigned flags, cji_text *out);

#endif
