/* A module in memory: what the builder writes, the reader fills, and printer, checker, driver layer and CPU device
 * walk.
 *
 * Prefixes.  cji_ptx_ a module, cji_fn_ a function, cji_val_ a value, cji_var_ a variable, cji_ins_ a record,
 * cji_lit_ a literal, cji_isa_ the instruction table, cji_target_ and cji_type_ its targets and types, cji_verb_ the
 * verbs, cji_print_ and cji_put_ the printer, cji_lex_, cji_parse_ and cji_scope_ the reader, cji_entry_ what a
 * launch must know.
 *
 * Layout.  A cj_ptx owns everything: names and files are interned, variables and functions are numbered from 0,
 * decoded forms are kept once (m->form[]).  A cj_fn holds 32-byte instruction records and the tables their operand
 * words point into.
 *
 * An operand word is kind:4 | index:28 (cji_word); 0 is "no operand".  What the index means:
 *   REG, NOT  f->reg[]                   LABEL    f->label[]
 *   IMM       f->lit[]                   SYM      m->var[]   (module variables, a function's own, parameters alike)
 *   SREG      cji_isa_sreg_at()          FUNC     m->fn[]
 *   MEM       f->mem[]                   TARGETS  f->tlist[]
 *   VEC, LIST, PAIR, TEXMEM  f->pool[index] = n, then n words (PAIR: two; TEXMEM: object, sampler or 0, coordinates
 *     as a VEC word or a single word)
 *   SINK      0
 * An instruction with more than five operands keeps four in its record; opnd[4] is CJI_K_MORE: f->pool[index] = n,
 * then the n others.  cji_ins_n() and cji_ins_opnd() hide that.
 *
 * A cj_val is the operand word spread out with its type and owner: id:32 | type:8 | kind:4 | owner:20.  A register's
 * type is that of f->reg[], a vector's its elements', a MEM's its base's element type where known, a variable's its
 * element type; CJ_VOID for an untyped literal (a C number that takes the type of the operand that it is used as).
 *
 * Invariants.  Every record's operands have been matched against its form (cji_isa_fits), so a walker need not check
 * them; every index is in range; a label that is used and never bound, or a block left open, is caught by
 * cji_ptx_finish(), before print, load or run.  After the first failure (m->dead) nothing changes any more.  A frozen
 * module is read-only and may be read by several threads.
 */
#ifndef CJI_PTX_H
#define CJI_PTX_H

#ifndef CJ_NO_SOURCE_LINES
#define CJ_NO_SOURCE_LINES
#endif
#ifndef CJI_FUNCTIONS_ONLY
#define CJI_FUNCTIONS_ONLY   /* the library defines the verbs */
#endif
#include <cujit/ptx.h>

#include "base/hash128.h"
#include "base/mem.h"
#include "base/obj.h"
#include "ptx/isa.h"
#include "ptx/isa_match.h"

/* ---- Operand words and values ------------------------------------------------------------------------------------ */

#define CJI_K_MORE 15u                       /* an instruction's fifth word: the rest is in the pool */
#define CJI_INDEX_MAX 0x0fffffffu

static inline uint32_t cji_word(uint32_t kind, uint32_t index) { return kind << 28 | index; }
static inline uint32_t cji_word_kind(uint32_t word) { return word >> 28; }
static inline uint32_t cji_word_index(uint32_t word) { return word & CJI_INDEX_MAX; }

static inline cj_val cji_val(uint32_t word, uint32_t type, uint32_t owner)
{
    return (cj_val){ (uint64_t)(word & CJI_INDEX_MAX) | (uint64_t)(type | (word >> 28) << 8 | owner << 12) << 32 };
}
static inline uint32_t cji_val_type(cj_val v) { return (uint32_t)(v.bits >> 32) & 255; }
static inline uint32_t cji_val_kind(cj_val v) { return (uint32_t)(v.bits >> 40) & 15; }
static inline uint32_t cji_val_owner(cj_val v) { return (uint32_t)(v.bits >> 44); }
static inline uint32_t cji_val_word(cj_val v) { return cji_val_kind(v) << 28 | (uint32_t)v.bits; }

/* ---- Instructions ------------------------------------------------------------------------------------------------ */

typedef struct cji_ins {
    uint32_t form;       /* index into m->form[], or a CJI_INS_* below */
    uint32_t guard;      /* 0, a REG word (@p) or a NOT word (@!p) */
    uint32_t loc;        /* cji_ptx_loc(), 0: not known */
    uint32_t opnd[5];    /* operand words in the manual's order, 0 behind the last */
} cji_ins;

/* Records that are no instructions. */
enum {
    CJI_INS_PSEUDO = 0xffffff00u,   /* everything from here on */
    CJI_INS_LABEL = 0xffffff00u,    /* opnd[0]: LABEL word; bound here */
    /* opnd[0]: TARGETS word; declared here (.branchtargets, .calltargets, .callprototype) */
    CJI_INS_TARGETS = 0xffffff01u,
    CJI_INS_PRAGMA = 0xffffff02u,   /* opnd[0]: index of the name (m->names) of its text, without quotes */
    /* only behind cji_parse_heads(): opnd[0]: SYM, FUNC or SINK word that a skipped instruction has, opnd[1]: 1 in a
     * call */
    CJI_INS_MENTION = 0xffffff03u,
    CJI_INS_RAW = 0xffffff04u       /* opnd[0]: index of the name of a line of text, printed while m->debug */
};

/* Printed in front of ins[at]: `n` bytes of its function's remark[] from `first` on.  It is no record, since what is
 * compiled and hashed does not have it. */
typedef struct cji_comment { size_t at, first, n; } cji_comment;

enum { CJI_QUICK = 5 };  /* operands that fit in a record */

/* A form as the module keeps it. */
typedef struct cji_form {
    const cji_isa_form *isa; /* the process's, or in the module's arena */
    cji_targets targets;  /* cji_target_set(isa->targets) */
    cji_targets gone;     /* targets on which it has ended from isa->end_version on */
    uint32_t index;       /* in m->form[] */
    /* index in m->form[] of the next row with this spelling once decoded, CJI_FORM_NONE: none or not yet */
    uint32_t next;
    uint8_t quick;        /* how many operands it has, if each is a plain register or literal; else 0 */
    uint8_t used;         /* 1: version and targets are already counted in the module's needs */
    uint8_t plain;        /* 1: no operand brings needs of its own */
    uint8_t made;         /* quick: the type of a destination made for it, CJ_VOID: none is */
    uint32_t quick_types[CJI_QUICK]; /* quick: registers' types, as mask; types decide alone */
} cji_form;

/* ---- A function's tables ----------------------------------------------------------------------------------------- */

typedef struct cji_reg {
    uint8_t type;        /* cj_type */
    uint8_t elem;        /* pointers: cj_type of what it points to, CJ_VOID: unknown or no pointer */
    uint8_t space;       /* pointers: cji_space of the address */
    uint8_t flags;       /* CJI_REG_* */
    /* printed %<prefix><number>, counted within its prefix from 0; PARAM: its variable's index in m->var[], whose name
     * is printed */
    uint32_t number;
} cji_reg;

/* an address with known space; a .func's register parameter or result (declared in its head) */
/* NAMED: declared by a name of its own, m->names[number]; "v.x" of a vector register v */
enum { CJI_REG_PTR = 1, CJI_REG_PARAM = 2, CJI_REG_NAMED = 4 };

/* A vector register: `n` registers in a row.  A call's list has all of them, and is printed with its name. */
typedef struct cji_vreg {
    uint32_t first, n;   /* in reg[] */
    uint32_t name;       /* m->names */
    uint32_t declared;   /* 1: in the body, 0: in the head */
} cji_vreg;

typedef struct cji_lit {
    uint64_t bits;       /* INT: the value (two's complement); F32: its 32 bits; F64: its 64 bits */
    uint8_t lit;         /* CJI_LIT_* */
    uint8_t wide;        /* INT: to be read as unsigned, above INT64_MAX */
    uint8_t type;        /* cj_type it was resolved to, CJ_VOID: untyped */
    uint8_t pad[5];
} cji_lit;

typedef struct cji_mem {
    int64_t offset;      /* in bytes; printed only when it is not 0, or `zero` is set */
    uint32_t base;       /* REG, SYM or IMM word */
    uint8_t zero;        /* a +0 that is an addition in code for debuggers */
    uint8_t bare;        /* 1: `symbol+offset` without brackets: the address itself, as SYM */
    uint8_t pad[2];
} cji_mem;

typedef struct cji_label {
    uint32_t at;         /* index of its CJI_INS_LABEL record, UINT32_MAX: not bound yet */
    uint32_t name;       /* m->names, 0: made by the builder, printed $L<index> */
    uint32_t loc;        /* where it was first used or made */
    uint32_t used;
} cji_label;

/* .branchtargets, .calltargets, .callprototype: a named list. */
typedef struct cji_tlist {
    uint32_t name;       /* m->names, 0: printed $T<index> */
    uint32_t kind;       /* CJI_TL_* */
    uint32_t list;       /* branchtargets: LIST word of LABELs; calltargets: LIST word of FUNCs; prototype: 0 */
    /* prototype: index in m->fn[] of a body-less function whose parameters and results are the signature */
    uint32_t proto;
} cji_tlist;

enum { CJI_TL_BRANCH = 1, CJI_TL_CALL, CJI_TL_PROTO };

/* ---- Variables and parameters ------------------------------------------------------------------------------------ */

enum { CJI_LINK_NONE = 0, CJI_LINK_VISIBLE, CJI_LINK_EXTERN, CJI_LINK_WEAK, CJI_LINK_COMMON };
enum { CJI_OPAQUE_NONE = 0, CJI_OPAQUE_TEX, CJI_OPAQUE_SAMPLER, CJI_OPAQUE_SURF }; /* .texref .samplerref .surfref */
enum {
    CJI_VAR_PTR = 1,
    CJI_VAR_MANAGED = 2,
    CJI_VAR_UNIFIED = 4,
    CJI_VAR_UNSIZED = 8,
    CJI_VAR_ARRAY = 16,
    CJI_VAR_RESULT = 32,
    CJI_VAR_HEAD = 128,     /* a parameter: in a head, not of a call */
    CJI_VAR_DECLARED = 64   /* .extern declared first: its definition stands behind the other variables */
};

/* An address inside an initialiser. */
typedef struct cji_reloc {
    uint64_t at;         /* byte offset in the variable */
    uint32_t word;       /* SYM or FUNC word */
    uint8_t generic;     /* generic(name) */
    uint8_t shift;       /* mask form 0xff00(name): which byte is taken, 0xff: the whole address */
    uint8_t pad[2];
    int64_t addend;
} cji_reloc;

/* A variable or a parameter.  In the module's arena; never moves. */
typedef struct cji_var {
    uint32_t name;       /* m->names */
    uint32_t fn;         /* index of its function in m->fn[] plus 1; 0: module scope */
    uint32_t loc;
    uint32_t align;      /* in bytes, as printed; 0: natural, not printed */
    uint8_t space;       /* cji_space; a .func's parameter passed in a register: CJI_SP_REG */
    uint8_t type;        /* element's cj_type */
    uint8_t vec;         /* .v2, .v4: 2, 4; else 0 */
    uint8_t linkage;     /* CJI_LINK_* */
    uint8_t opaque;      /* CJI_OPAQUE_* */
    uint8_t flags;       /* CJI_VAR_*; ARRAY: has dimensions; UNSIZED: the first one is empty (extern shared) */
    uint8_t ptr_space;   /* parameters with PTR: what it points into; CJI_SP_GENERIC: not said */
    uint8_t ptr_elem;    /* parameters with PTR: cj_type pointed to, CJ_VOID: not known */
    uint32_t ptr_align;  /* .ptr .align N; 0: not said */
    uint32_t reg;        /* space REG: index in the function's reg[] */
    uint32_t ndim;
    uint32_t nreloc;
    uint64_t *dim;       /* ndim sizes, the first 0 when UNSIZED */
    uint64_t bytes;      /* whole size; 0 when UNSIZED */
    const uint8_t *init; /* NULL, or `bytes` bytes (little endian), zero-filled behind what was given */
    uint64_t ninit;      /* of these, how many were given: a multiple of the element's size */
    const cji_reloc *reloc;
    uint32_t properties; /* initial value of a texture, sampler or surface: its text in m->names; 0: none */
} cji_var;

/* A variable's or parameter's alignment in bytes: what .align says (behind .ptr it is that of the memory pointed to),
 * else its type's. */
static inline uint32_t cji_var_alignment(const cji_var *v)
{
    if (v->align && !(v->flags & CJI_VAR_PTR)) return v->align;
    return v->opaque ? 8 : cji_type_bits(v->type) / 8 * (v->vec ? v->vec : 1u);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

/* Launch bounds and other directives of a head; 0: not given. */
typedef struct cji_bounds {
    uint32_t maxntid[3], reqntid[3], cluster[3];  /* .maxntid, .reqntid, .reqnctapercluster */
    uint32_t minctas, maxreg, maxrank;            /* .minnctapersm, .maxnreg, .maxclusterrank */
    uint32_t preserve, preserve_control;          /* .abi_preserve, .abi_preserve_control: the number + 1 */
    uint32_t smem_spill;                          /* .pragma "enable_smem_spilling" */
    uint8_t explicit_cluster, blocks_are_clusters, noreturn, pad;
} cji_bounds;

/* An open block of structured control flow. */
typedef struct cji_block {
    uint8_t kind, has_else, pad[2];               /* CJI_BLOCK_* */
    uint32_t loc;
    uint32_t label_else, label_end, label_next, label_top; /* indices in label[]; UINT32_MAX: none */
    cj_val counter, step, limit;                  /* cj_for */
} cji_block;

enum { CJI_BLOCK_IF = 1, CJI_BLOCK_LOOP, CJI_BLOCK_FOR, CJI_BLOCK_WHILE };

struct cj_fn {
    cji_obj obj;                 /* err_in: the module */
    cj_ptx *m;
    uint32_t index;              /* in m->fn[] */
    /* definitions are printed by ascending order; UINT32_MAX: text that declared it and has not defined it yet */
    uint32_t order;
    uint32_t owner;              /* of its values, 20 bits */
    uint32_t loc;                /* of the call under way */
    uint32_t name;               /* m->names */
    uint8_t kernel;              /* .entry, else .func */
    uint8_t linkage;             /* CJI_LINK_*; kernels and functions are VISIBLE unless said otherwise */
    uint8_t body;                /* 0: a declaration only */
    uint32_t mix_all, mix_memory; /* as cji_fn_mix counts; only behind cji_parse_heads() */
    /* the signature of a .callprototype: no function of the module, not printed by itself */
    uint8_t proto;
    uint8_t as_is;               /* read from text: nothing is added to its body when it is printed */
    uint8_t line_set;            /* cj_line() is in force: cj_here() changes nothing */
    uint8_t early;               /* used before its definition is printed: declared in front */
    uint8_t named_labels;        /* has labels with names of their own */
    uint8_t called;              /* by cj_call(): its parameters and results stay as they are */
    uint8_t inlined;             /* cj_fn_inline: calls are copies of its instructions */
    uint8_t math_accuracy, math_form; /* cj_math_set_accuracy, cj_math_set_form */
    uint32_t decl_loc;
    uint32_t alias;              /* index of the function that it is, plus 1; 0: no .alias */
    cji_bounds bounds;
    uint64_t param_bytes;        /* of a kernel that is built: its parameters so far */
    cji_ins *ins;      size_t nins, cins;
    cji_reg *reg;      size_t nreg, creg;
    cji_vreg *vreg;    size_t nvreg, cvreg;
    uint32_t named_regs;                          /* of reg[], outside of vectors and the head */
    uint32_t own_prefix;                          /* 1 << type: a name is its prefix and a number; others are %f_7 */
    cji_lit *lit;      size_t nlit, clit;
    cji_mem *mem;      size_t nmem, cmem;
    cji_label *label;  size_t nlabel, clabel;
    cji_tlist *tlist;  size_t ntlist, ctlist;
    uint32_t *pool;    size_t npool, cpool;
    uint32_t *param;   size_t nparam, cparam;     /* m->var[] indices, in order */
    uint32_t *result;  size_t nresult, cresult;   /* .func only */
    /* m->var[] indices of its own variables (shared, local, .param of calls) */
    uint32_t *var;     size_t nvar, cvar;
    uint32_t *pragma;  size_t npragma, cpragma;   /* m->names; printed behind the head */
    cji_comment *comment; size_t ncomment, ccomment; /* in their order */
    char *remark;      size_t nremark, cremark;   /* their texts */
    /* read from a text with .loc: where ins[i] is in it; 0: no instruction */
    uint32_t *text_line; size_t ntext_line, ctext_line;
    uint32_t count[CJ_TYPE_COUNT];                /* registers of each type */
    uint32_t *lit_slot; size_t nlit_slot;         /* hash of lit[]: index + 1 */
    cji_block *block;  size_t nblock, cblock;     /* open blocks, innermost last */
};

/* ---- The module -------------------------------------------------------------------------------------------------- */

/* DEBUG: the next change drops the debug data; LOADED: emits fail with CJ_ESTATE. */
enum { CJI_FROZEN_LOADED = 1, CJI_FROZEN_DEBUG = 2 };

enum { CJI_MATH_NOTES = 256 };  /* at least as many as src/ptx/math has functions and tables */

struct cj_ptx {
    cji_obj obj;                 /* CJI_OBJ_STICKY */
    uint8_t dead;                /* a failure is kept: later calls do nothing */
    uint8_t frozen;              /* CJI_FROZEN_* */
    uint8_t debug;               /* the two texts below are printed, and .target has debug */
    uint8_t address_size;        /* 32 or 64; 64 unless parsed otherwise */
    uint8_t line_set;            /* cj_ptx_line() is in force */
    uint8_t texmode_independent; /* .target has that word: samplers are variables of their own */
    uint32_t owner;              /* of module-scope values */
    uint32_t loc;
    cji_arena arena;             /* variables, initialisers, forms */
    cji_map names;               /* identifiers, pragma texts; 0 is "" */
    cji_map files;               /* source files; 0 is "" */
    /* while a text is read: where it begins, and the place in it that a failure is about; NULL: the line alone is known
     */
    const char *text_begin, *text_at;
    const char *file_ptr; uint32_t file_at;       /* latest file given to cj_here(), and its number */
    struct cji_longloc { uint32_t file, line; } *longloc; size_t nlongloc, clongloc;
    cji_var **var;     size_t nvar, cvar;
    cj_fn **fn;        size_t nfn, cfn;
    uint64_t const_bytes;        /* of the .const variables that were built so far */
    uint32_t norder;             /* the order of the next function */
    cji_form **form;   size_t nform, cform;
    /* index: in form[] + 1, 0: empty */
    struct cji_form_slot { uint32_t form, index; } *form_slot; size_t nform_slot;
    /* spelling to form */
    struct cji_word_slot {
        uint64_t hash;
        const char *text;
        uint32_t len, index;
    } * word_slot;
    size_t nword_slot, nwords;
    /* scope[name]: SYM or FUNC word of the module-scope thing of that name, 0: free (also past the end) */
    uint32_t *scope;   size_t cscope;
    uint32_t *pragma;  size_t npragma, cpragma;   /* file-scope pragmas, m->names */
    /* .alias: functions, as indices in fn[] */
    struct cji_alias { uint32_t fn, of; } *alias; size_t nalias, calias;
    /* what it needs, and what the caller fixed */
    uint8_t need_version;        /* major * 10 + minor; least, over forms, special registers, directives */
    uint8_t fixed_version;       /* 0: not fixed */
    int16_t fixed_target;        /* cji_target_name index, -1: not fixed */
    cji_targets need_targets;    /* intersection of what was used */
    cji_targets gone_targets;    /* targets on which something used has ended, from gone_version on */
    uint8_t gone_version;        /* 0: nothing */
    uint32_t gone_form, gone_loc; /* the form that ends first (in form[]), and where it was used */
    cji_targets late_targets;    /* targets on which something used needs late_version */
    uint8_t late_version;        /* 0: nothing */
    uint32_t late_form, late_loc; /* the form that needs it, and where it was used */
    /* CJI_MATH_NOTES of them, once a mathematical function is used: index + 1 of its function or table; 0: none */
    uint32_t *math;
    cji_text text;               /* of the latest cj_ptx_print() */
    /* read from a text with debug data, as they are there: .file lines; sections */
    cji_text debug_files, debug_sections;
    /* what a constructor in this module gives when it fails: an immortal failed function */
    cji_obj bad;
    /* what cj_ptx_find() gives for a name that is none: the same with a record of its own */
    cji_obj missing;
};

/* ---- Reading it -------------------------------------------------------------------------------------------------- */

static inline const char *cji_ptx_name(const cj_ptx *m, uint32_t name)
{
    return name < m->names.n ? m->names.entry[name].key : "";
}
static inline size_t cji_ptx_name_len(const cj_ptx *m, uint32_t name)
{
    return name < m->names.n ? m->names.entry[name].len : 0;
}

/* The decoded form of a record; NULL for a CJI_INS_* pseudo record. */
static inline const cji_form *cji_ins_form(const cj_ptx *m, const cji_ins *x)
{
    return x->form < CJI_INS_PSEUDO ? m->form[x->form] : NULL;
}

/* How many operands a record has, and the i-th (i < n). */
static inline uint32_t cji_ins_n(const cj_fn *f, const cji_ins *x)
{
    if (cji_word_kind(x->opnd[4]) == CJI_K_MORE) return 4 + f->pool[cji_word_index(x->opnd[4])];
    uint32_t n = 0;
    while (n < 5 && x->opnd[n]) n++;
    return n;
}
static inline uint32_t cji_ins_opnd(const cj_fn *f, const cji_ins *x, uint32_t i)
{
    if (i >= 4 && cji_word_kind(x->opnd[4]) == CJI_K_MORE) return f->pool[cji_word_index(x->opnd[4]) + 1 + (i - 4)];
    return x->opnd[i];
}

/* The words of a VEC, LIST, PAIR or TEXMEM; *n how many. */
static inline const uint32_t *cji_fn_words(const cj_fn *f, uint32_t word, uint32_t *n)
{
    *n = f->pool[cji_word_index(word)];
    return f->pool + cji_word_index(word) + 1;
}

/* The file and line of a record's loc; "" and 0 when it is not known. */
const char *cji_ptx_where(const cj_ptx *m, uint32_t loc, uint32_t *line);

/* A function or module-scope variable by name: FUNC or SYM word, 0 when there is none. */
uint32_t cji_ptx_lookup(const cj_ptx *m, const char *name, size_t len);
cj_fn *cji_ptx_find_fn(const cj_ptx *m, const char *name);              /* NULL when there is none */

/* Describes the operand `word` for cji_isa_fits(); `types` has room for 256 element types (only used by VEC and
 * TEXMEM). */
void cji_fn_arg(const cj_fn *f, uint32_t word, cji_isa_arg *arg, uint8_t *types);

/* The least .version and .target that print will write (fixed ones where fixed).  CJ_OK, or the failure that says
 * what cannot be met. */
cj_status cji_ptx_needs(cj_ptx *m, uint8_t *version, int *target);

/* Labels bound, blocks closed, needs met: what must hold before print, check, load.  Records the failure in `m`. */
cj_status cji_ptx_finish(cj_ptx *m, const char *call);

/* After this every emit fails with CJ_ESTATE; reads may come from any thread. */
void cji_ptx_freeze(cj_ptx *m);

/* What is printed for one device: the targets that run there (none: the table does not know it, and the least target is
 * printed), and the greatest version that its driver takes, as major * 10 + minor. */
typedef struct cji_ptx_device { cji_targets runs; uint8_t most; } cji_ptx_device;

/* The target to print for that device: the one that was set, else a plain one where every row that is used exists
 * there, else one of its family or its own.  -1: none that the device runs and its driver takes. */
int cji_ptx_target_for(const cj_ptx *m, cji_ptx_device dev);
/* The version that goes with it, 4.0 at least; UINT8_MAX: the module was set to a smaller one. */
uint8_t cji_ptx_version_with(const cj_ptx *m, int target);
/* The targets that have all of the module: the one that was set alone, or what every row has. */
cji_targets cji_ptx_able(const cj_ptx *m);

/* An instruction, or a special register of one, that asks for much. */
typedef struct cji_ptx_demand {
    const char *what;    /* NULL: none was found */
    uint32_t loc;        /* cji_ptx_where() */
    uint8_t version;
    cji_targets targets;
} cji_ptx_demand;
/* The first one that no target of `on` has. */
cji_ptx_demand cji_ptx_first_lacking(const cj_ptx *m, cji_targets on);
/* The first of those that need the greatest version with that target. */
cji_ptx_demand cji_ptx_newest(const cj_ptx *m, int target);

/* Writes the text of a finished module (cji_ptx_finish() answered CJ_OK); pure.  Flags: CJ_PRINT_*, CJI_PRINT_LINK.
 * out->failed without memory. */
/* for the driver's linker, which takes .version 3.1 and newer only (seen with driver 580) */
enum { CJI_PRINT_LINK = 256, CJI_PRINT_TARGET = 16 };
/* the flag that has another target printed, and the version that goes with it; -1: the module's least one */
static inline unsigned cji_print_target(int target) { return (unsigned)(target + 1) << CJI_PRINT_TARGET; }
void cji_ptx_write(const cj_ptx *m, unsigned flags, cji_text *out);

/* A hash of all that this text depends on, without writing it: modules with the same hash have the same text, and the
 * same builder calls give the same hash.  Source lines count only where the flags have CJ_PRINT_LINES.  Of a finished
 * module; pure. */
cji_hash128 cji_ptx_digest(const cj_ptx *m, unsigned flags);

/* The source line of line `ptx_line` (from 1) of that text: the builder call's C line, or cj_line()'s.  False where
 * it has none or without memory.  Works it out by writing the text once more; pure.  *file belongs to `m`. */
bool cji_ptx_line_of(const cj_ptx *m, unsigned flags, uint32_t ptx_line, const char **file, uint32_t *line);
/* one instruction, without newline: for messages */
void cji_ptx_write_ins(const cj_fn *f, const cji_ins *x, cji_text *out);

/* ---- Writing it: what the reader and the builder's own files use --------------------------------------------------
 * Each returns 0 (or NULL) on failure, with the failure kept in the module.  Nothing here looks at frozen. */

/* Keeps the first failure, with the module's or function's current source line in front of the message ("gemm.c:90:
 * ...") and in the record. */
cj_status cji_ptx_fail(cj_ptx *m, cj_status status, const char *call, uint32_t loc, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

uint32_t cji_ptx_intern(cj_ptx *m, const char *s, size_t n); /* in names; 0 for "" and on failure (m->dead tells) */
uint32_t cji_ptx_file(cj_ptx *m, const char *s, size_t n);              /* in files */
uint32_t cji_ptx_loc(cj_ptx *m, uint32_t file, uint32_t line);          /* a loc */

/* A new function: name may be declared before (then that declaration is returned, to be completed). */
cj_fn *cji_ptx_fn(cj_ptx *m, const char *name, size_t len, bool kernel, unsigned linkage, const char *call);
/* A signature without a name, for CJI_TL_PROTO: its parameters and results have none either. */
cj_fn *cji_ptx_proto(cj_ptx *m, const char *call);
/* A new variable, zeroed but for name, function and location: the caller fills it, then cji_var_size() computes
 * `bytes`.  `f` NULL: module scope.  Enters the name into its scope and the variable into m->var[]; `list` CJI_LIST_*
 * says which list of the function takes it too. */
cji_var *cji_ptx_var(cj_ptx *m, cj_fn *f, unsigned list, const char *name, size_t len, const char *call,
                     uint32_t *index);
/* | FRESH: the caller has seen to it that the name is free */
enum { CJI_LIST_VAR, CJI_LIST_PARAM, CJI_LIST_RESULT, CJI_LIST_FRESH = 8 };
bool cji_var_size(cji_var *v);                                          /* false: more than 63 bits; not changed */

uint32_t cji_fn_reg(cj_fn *f, unsigned type);                           /* REG word */
uint32_t cji_fn_regs(cj_fn *f, unsigned type, size_t n);                /* `n` in a row: the first one's word */
uint32_t cji_fn_named_reg(cj_fn *f, unsigned type, const char *name, size_t len); /* the same, NAMED */
uint32_t cji_fn_vreg(cj_fn *f, unsigned type, unsigned n, const char *name, size_t len, bool head); /* the first's */
cji_vreg *cji_fn_vreg_at(const cj_fn *f, uint32_t first);               /* that begins there; NULL: none */
void cji_fn_vreg_rename(cj_fn *f, uint32_t first, const char *name, size_t len);
uint32_t cji_fn_ptr(cj_fn *f, unsigned type, unsigned elem, unsigned space); /* REG word of an address register */
/* IMM word; equal literals share one entry */
uint32_t cji_fn_lit(cj_fn *f, unsigned lit, uint64_t bits, bool wide, unsigned type);
uint32_t cji_fn_mem(cj_fn *f, uint32_t base, int64_t offset);           /* MEM word */
bool cji_fn_hides(const cj_fn *f, uint32_t name);       /* a parameter, result or variable of its own has the name */
uint32_t cji_fn_bare(cj_fn *f, uint32_t symbol, int64_t offset);        /* the address itself: SYM, or MEM word */
uint32_t cji_fn_list(cj_fn *f, unsigned kind, const uint32_t *word, size_t n); /* VEC, LIST, PAIR or TEXMEM word */
uint32_t cji_fn_label(cj_fn *f, const char *name, size_t len);          /* LABEL word; NULL: nameless */
void cji_fn_bind(cj_fn *f, uint32_t label);                            /* binds it here; twice is a failure */
/* TARGETS word; its record is appended */
uint32_t cji_fn_tlist(cj_fn *f, unsigned kind, const char *name, size_t len, uint32_t list, uint32_t proto);

/* Raises what the module needs; a failure where it was fixed lower.  `what` and `loc` for the message. */
bool cji_ptx_need(cj_ptx *m, uint8_t version, cji_targets targets, const char *what, uint32_t loc);
bool cji_ptx_need_sreg(cj_ptx *m, uint32_t sreg, uint32_t loc);

/* The decoded form (cached); by number, by spelling.  NULL on failure (without memory, unknown spelling: the failure
 * explains). */
cji_form *cji_ptx_form(cj_ptx *m, uint32_t form);
cji_form *cji_ptx_spelling(cj_ptx *m, const char *s, size_t len, const char *call, uint32_t loc);

/* Appends one instruction, whole or not at all: finds the row of `e`'s spelling that takes the operands, counts its
 * needs.  Location f->loc. */
bool cji_fn_emit(cj_fn *f, cji_form *e, uint32_t guard, const uint32_t *word, size_t n, const char *call);
bool cji_fn_pseudo(cj_fn *f, uint32_t kind, uint32_t word);             /* CJI_INS_PRAGMA and the like */

#endif
