/* The reader's own interface: what its files share.  src/ptx/parse.c has the order of things. */
#ifndef CJI_PARSE_H
#define CJI_PARSE_H

#include "ptx/lex.h"
#include "ptx/ptx.h"

#include <cujit/parse.h>

#define D(name, word) CJI_D_##name,
typedef enum cji_directive { CJI_D_NONE,
#include "ptx/directives.def"
CJI_D_COUNT } cji_directive;

/* A constant: an integer, or a float's bits. */
typedef struct cji_const {
    uint8_t kind;          /* CJI_TOK_INT, CJI_TOK_F32, CJI_TOK_F64 */
    bool is_unsigned;
    uint64_t u;
} cji_const;

/* What a name stands for, from its declaration to the end of its scope. */
typedef struct cji_binding {
    uint32_t word;         /* operand word; of a vector register or range: its first register */
    uint32_t count;        /* RANGE: registers or variables; VECTOR: elements */
    uint32_t line;
    uint32_t name;         /* in p->names */
    uint32_t outer;        /* binding of the same name in an outer scope, plus 1; 0: none */
    uint32_t next;         /* next of the same scope, plus 1 */
    uint16_t depth;
    uint8_t kind;          /* CJI_BIND_* */
    uint8_t pending;       /* a label that is used and not placed yet */
} cji_binding;

enum { CJI_BIND_WORD = 1, CJI_BIND_VECTOR, CJI_BIND_RANGE };   /* VECTOR: bind.word is its first register */

/* What is known about one spelling of a name. */
typedef struct cji_name {
    uint32_t bind;         /* innermost binding plus 1, 0: none */
    uint32_t range;        /* innermost range with this prefix, plus 1 */
    /* names that were declared alone and are this prefix and a number: they may hide a range's */
    uint32_t under;
} cji_name;

/* A name of at most 8 bytes that was looked up lately, and what was found. */
typedef struct cji_recent {
    uint64_t bytes;        /* all of them, as scope_pack() does it */
    uint32_t n;            /* how many; 0: none */
    uint32_t id;           /* its number in p->names */
} cji_recent;
typedef struct cji_found {
    uint64_t bytes;
    uint32_t n;
    uint32_t bindings;     /* p->bindings then: what is found holds as long as there is no other */
    uint32_t word, bind;
} cji_found;

enum { DECL_MODULE_REGS = 32, CJI_RECENT_BITS = 6, CJI_FOUND_BITS = 8 };

/* A parameter or result in a function's head, as declared; its name and function come later. */
typedef struct cji_head {
    cji_var v;
    const char *name;      /* in the text */
    uint32_t len, line;
} cji_head;

/* One for the whole text.  Invariants: depth 0 is the module, 1 a function with its parameters and body, more are
 * nested braces; scope[depth] heads the list of the bindings of that depth; name[] is as long as names. */
typedef struct cji_parser {
    cji_lex x;
    cj_ptx *m;
    cj_fn *f;                                    /* the function whose body is read */
    bool failed;
    uint32_t line;                               /* of the statement that is read */
    uint32_t file;                               /* m->files: the text itself */
    const char *text;
    size_t bytes;                                /* of the text */

    unsigned version;                            /* of .version, as 80 for 8.0; 0: not read (heads) */
    uint8_t texmode;                             /* said by .target: 1 unified, 2 independent, 0 nothing */
    bool old_target, no_doubles;                 /* .target is sm_10 to sm_13; below sm_13 */
    bool flushes;                                /* float instructions are their .ftz forms */
    uint32_t debug_line;                         /* of .target's debug, 0: it has none */

    cji_map names;
    cji_name *name;         size_t cname;        /* capacity; length is names.n */
    cji_recent recent[1 << CJI_RECENT_BITS];     /* by a hash: prefixes of registers, mostly */
    cji_found found[1 << CJI_FOUND_BITS];        /* by a hash: registers, mostly */
    uint32_t bindings;                           /* counts the changes of what short names stand for */
    cji_binding *bind;      size_t nbind, cbind;
    uint32_t *scope;        size_t nscope, cscope;  /* nscope is depth + 1 */
    uint32_t *scope_line;   size_t cscope_line;     /* where each was opened */
    /* by number in m->names: taken by the function that had that `mark`, 0: by none; next suffix to try */
    struct cji_taken { uint32_t mark, next; } *taken; size_t ctaken;
    uint32_t mark;                               /* of the function whose body is read, from 1 */
    bool unsettled;                              /* the module has a name that a function in front of it has */

    cji_lex module_reg[DECL_MODULE_REGS]; uint32_t nmodule_reg;   /* where .reg of the module is in the text */
    cji_head *head;         size_t nhead, chead; /* parameters of the head that is read, results first */
    uint32_t *word;         size_t nword, cword; /* operand words that are being put together, as a stack */
    uint8_t *data;          size_t ndata, cdata; /* an initialiser's bytes */
    cji_reloc *reloc;       size_t nreloc, creloc;

    /* how many registers may still be declared: bounds the memory a text can ask for */
    size_t regs_left;
    uint64_t init_left;                          /* bytes that initialised variables may still have; likewise */
    bool nested;                                 /* inside the braces of an operand */
    bool heads;                                  /* bodies are skipped; CJI_INS_MENTION records say what is in them */
    /* ... and one hides a name of the module: what the others mention is not known */
    bool unsure;
    bool has_loc;                                /* the text has .loc: only they give source lines */
    uint32_t loc;                                /* the latest .loc, as cji_ptx_loc() */
    cji_map srcseen;                             /* numbers of .file directives that are read */
    cji_map srcmap;                              /* numbers of .file directives, 8 bytes each ... */
    uint32_t *srcfile;      size_t csrcfile;     /* ... and their names, in m->files */
} cji_parser;

/* The current token, for "%s" of a message. */
#define CJI_WORD(x) cji_short_n((x)->s, (x)->n)

/* ---- parse.c: failing, taking tokens ---- */
void cji_parse_at(cji_parser *p, const char *at);                  /* what the next failure is about; NULL: a line */
/* at p->line, and the current token's column where it is in that line; false */
bool cji_parse_fail(cji_parser *p, cj_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool cji_parse_expected(cji_parser *p,
                        const char *what); /* "expected WHAT, found 'token'", at the token's line and column; false */
/* true unless the module keeps a failure (a call into it failed) */
bool cji_parse_fine(cji_parser *p);
bool cji_parse_take(cji_parser *p, uint8_t kind, const char *where); /* takes that character, or fails */
bool cji_parse_maybe(cji_parser *p, uint8_t kind);                 /* takes it if it is there */
cji_directive cji_parse_directive(const cji_parser *p);            /* the current .word; CJI_D_NONE: no directive */
const char *cji_parse_word(const cji_parser *p);                   /* its spelling, a constant */
bool cji_parse_grow(cji_parser *p, void *array, size_t *cap, size_t need, size_t each);
bool cji_parse_push(cji_parser *p, uint32_t word);                 /* onto word[] */

/* one directive, variable or function of the module */
bool cji_parse_top(cji_parser *p);
void cji_parse_begin(cji_parser *p, cj_ptx *m, const char *text, size_t bytes); /* in front of the first token */
void cji_parse_release(cji_parser *p);

/* ---- parse_heads.c ---- */
/* Reads the heads of a text into `m`, which is fresh and only good for cji_entries: no body has instructions, and
 * nothing checks them.  False where the text cannot be read: `m` has what was read before. */
bool cji_parse_heads(cj_ptx *m, const char *text, size_t bytes);
bool cji_parse_skip_body(cji_parser *p);                           /* as cji_parse_body */

/* ---- parse_target.c ---- */
bool cji_parse_targets(cji_parser *p);                             /* .version, .target, .address_size */
/* Takes .version; the number behind it, as 80 for 8.0, stays the current token; 0: it is none. */
unsigned cji_parse_version(cji_parser *p);
/* Counts what a directive needs, at p->line: that version (as 80 for 8.0), and sm_<sm> or newer. */
bool cji_parse_need(cji_parser *p, unsigned version, unsigned sm, const char *what);

/* ---- parse_const.c ---- */
bool cji_parse_const(cji_parser *p, cji_const *out);
bool cji_parse_integer(cji_parser *p, uint64_t most, const char *what, uint64_t *out);
/* the same without operators: where ptxas takes no expression */
bool cji_parse_plain(cji_parser *p, uint64_t most, const char *what, uint64_t *out);

/* ---- parse_scope.c ---- */
bool cji_scope_open(cji_parser *p);
/* labels still pending move one scope out; in a function's own: a failure */
bool cji_scope_close(cji_parser *p);
/* that the innermost scope does not have the name yet, or a failure */
bool cji_scope_free(cji_parser *p, const char *s, size_t n);
/* in the innermost scope */
bool cji_scope_declare(cji_parser *p, const char *s, size_t n, uint8_t kind, uint32_t word, uint32_t count);
/* NULL: unknown; *word: with a range's number added */
const cji_binding *cji_scope_find(cji_parser *p, const char *s, size_t n, uint32_t *word);
uint32_t cji_scope_label(cji_parser *p, const char *s, size_t n);  /* LABEL word of a use; 0: failed */
bool cji_scope_bind_label(cji_parser *p, const char *s, size_t n);      /* LABEL here */

/* ---- parse_names.c: what is printed ---- */
/* a name that is free in the printed function, in p->data; NULL: failed */
const char *cji_scope_unique(cji_parser *p, const char *s, size_t n, size_t *len);
/* the same for a register, which may have a % in front; NULL also: it is printed by its number */
const char *cji_scope_reg_name(cji_parser *p, const char *s, size_t n, size_t *len);
bool cji_scope_as_register(const char *s, size_t n);               /* a register may be printed so: %r1, %r_1 */
/* the names of results and parameters, from that one on, are taken; one that a register could have loses its % */
bool cji_scope_head_names(cji_parser *p, cj_fn *f, size_t from);
bool cji_scope_has(cji_parser *p, const char *s, size_t n, bool *in_module); /* the function, apart from the module */
void cji_scope_in_module(cji_parser *p, uint32_t id);              /* the module has that name of m->names now */
bool cji_scope_settle(cji_parser *p);                              /* when the whole text is read */

/* ---- parse_decl.c ---- */
bool cji_parse_regs(cji_parser *p);                                /* behind .reg */
bool cji_parse_module_regs(cji_parser *p);                         /* the current token is .reg */
bool cji_parse_declare_module_regs(cji_parser *p);                 /* in the function whose body begins */
bool cji_parse_tex(cji_parser *p, unsigned linkage);               /* .tex of PTX 1.0 to 1.4 */
bool cji_parse_vars(cji_parser *p, unsigned space, unsigned linkage); /* behind a state space */
typedef struct cji_decl { uint32_t align; uint8_t type, vec, opaque, flags, ptr_space; uint32_t ptr_align; } cji_decl;
/* .align N, .v4, .attribute(..), .f32, .ptr ...: up to the name */
bool cji_parse_type(cji_parser *p, cji_decl *d, bool param);
bool cji_parse_dims(cji_parser *p, cji_var *v, const char *name, size_t len); /* [2][3] behind a name */
/* that a parameter of a function or a call is aligned as these may be, or a failure */
bool cji_parse_param_align(cji_parser *p, const cji_decl *d, const char *name, size_t len);
void cji_decl_apply(const cji_decl *d, cji_var *v);

/* ---- parse_init.c ---- */
bool cji_parse_init(cji_parser *p, cji_var *v);                    /* behind '=' */

/* ---- parse_opaque.c ---- */
bool cji_parse_opaque_init(cji_parser *p, cji_var *v);             /* the same for .texref and the like */

/* ---- parse_alias.c ---- */
bool cji_parse_alias(cji_parser *p);                               /* the current token is .alias */

/* ---- parse_fn.c ---- */
bool cji_parse_fn(cji_parser *p, bool kernel, unsigned linkage);   /* behind .entry or .func */
bool cji_parse_old_params(cji_parser *p);                          /* behind .param in an old kernel's body */
bool cji_parse_proto(cji_parser *p, const char *name, size_t len); /* behind .callprototype */

/* ---- parse_bounds.c ---- */
bool cji_parse_bounds(cji_parser *p, cj_fn *f, bool again);        /* the directives behind the parameters */

/* ---- parse_body.c ---- */
bool cji_parse_body(cji_parser *p);                                /* behind '{', up to its '}' */

/* ---- parse_ins.c ---- */
bool cji_parse_offset(cji_parser *p, int64_t *offset);             /* {+ N} {- N} behind an address's base */
/* `n` operand words: an instruction at the statement's line */
bool cji_parse_emit(cji_parser *p, cji_form *e, uint32_t guard, const uint32_t *word, size_t n);
/* the current word is its first; takes the semicolon */
bool cji_parse_ins(cji_parser *p, uint32_t guard);

/* ---- parse_debug.c ---- */
bool cji_parse_section(cji_parser *p);
bool cji_parse_dwarf(cji_parser *p);                               /* the current token is '@' */
bool cji_parse_raw(cji_parser *p, cji_text *to, const char *s, size_t n); /* as a line of its own */
bool cji_parse_keep_loc(cji_parser *p, const char *text, size_t n);
bool cji_parse_end_debug(cji_parser *p);

/* ---- parse_element.c: *word is a variable's, and becomes the operand's ---- */
/* at '['; `place`: what the instruction has there, NULL: nothing */
bool cji_parse_element(cji_parser *p, const cji_isa_opnd *place, uint32_t *word);
bool cji_parse_bare(cji_parser *p, uint32_t *word);                /* at '+' */

/* ---- parse_line.c: .file and .loc ---- */
bool cji_parse_scan_files(cji_parser *p);
bool cji_parse_file(cji_parser *p);
bool cji_parse_loc(cji_parser *p);
bool cji_parse_pragma(cji_parser *p, bool (*each)(cji_parser *p, uint32_t name));

#endif
