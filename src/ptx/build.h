/* What the files of the builder share among themselves, behind ptx.h. */
#ifndef CJI_BUILD_H
#define CJI_BUILD_H

#include "ptx/ptx.h"

enum { CJI_VERSION_FLOOR = 23 };   /* .address_size needs PTX 2.3 */
bool cji_version_exists(unsigned version);                  /* as 80 for 8.0; true for later ones too */

/* ---- Entry of a public call ---- */

/* A live function of a module that takes calls; quick, says nothing. */
static inline bool cji_fn_is_open(const cj_fn *f)
{
    return f && f->obj.magic == CJI_MAGIC && f->obj.tag == CJI_TAG_FN && !(f->obj.flags & CJI_OBJ_FAILED) &&
           !f->m->dead && !f->m->frozen;
}
bool cji_fn_open_slow(cj_fn *f, const char *call);
static inline bool cji_fn_open(cj_fn *f, const char *call) { return cji_fn_is_open(f) || cji_fn_open_slow(f, call); }
/* Whether `callee` is a function that `f` can call; else the failure is kept. */
bool cji_fn_callable(cj_fn *f, cj_fn *callee, const char *call);
bool cji_ptx_open(cj_ptx *m, const char *call);
/* the same for a call that changes nothing of what the module does: debug data stays */
bool cji_ptx_open_same(cj_ptx *m, const char *call);
cj_fn *cji_ptx_bad(cj_ptx *m, const char *call);            /* what a constructor gives when it fails */

cj_status cji_ptx_nomem(cj_ptx *m, const char *call);
uint32_t cji_ptx_owner(const cj_ptx *m, size_t index);      /* 0: the module itself, 1 + i: m->fn[i] */
void cji_ptx_loc_split(const cj_ptx *m, uint32_t loc, uint32_t *file, uint32_t *line);
bool cji_ptx_good_name(cj_ptx *m, const char *name, size_t len, const char *call, uint32_t loc);
bool cji_ptx_enter(cj_ptx *m, uint32_t name, uint32_t word);

#define CJI_NULL ((cj_val){ 0 })

/* ---- Values ---- */
static inline cj_val cji_val_of(const cj_fn *f, uint32_t word, unsigned type)
{
    return word ? cji_val(word, type, f->owner) : CJI_NULL;
}
static inline cj_val cji_reg_val(cj_fn *f, unsigned type) { return cji_val_of(f, cji_fn_reg(f, type), type); }
/* Is `v` a value that `f` may use?  Fails with a sentence that begins with `what` ("operand b"). */
bool cji_val_usable(cj_fn *f, cj_val v, const char *call, const char *what);
static inline bool cji_val_owned(const cj_fn *f, cj_val v)
{
    uint32_t o = cji_val_owner(v);
    return o == f->owner || (o == f->m->owner && cji_val_kind(v) == CJI_K_SYM);
}
/* The type that a register is declared with, and numbered in: PTX has no .bf16 registers. */
static inline unsigned cji_type_declared(unsigned type)
{
    return type == CJ_BF16 ? CJ_B16 : type == CJ_BF16X2 ? CJ_B32 : type;
}
bool cji_type_is_int(unsigned type);                        /* b, u, s of 8 to 64 bits */
/* what a register of that type is made as: 8-bit types in 32 bits */
unsigned cji_type_wide(unsigned type);
unsigned cji_type_bits_of(unsigned type);                   /* the untyped type of that width */
unsigned cji_type_mem(unsigned type);                       /* what ld, st and variables call it: f16 is b16 */

/* The literal `index` as one of `type`: an IMM word, 0 with the reason in why. */
uint32_t cji_lit_as(cj_fn *f, uint32_t index, unsigned type, char *why, size_t size);
cj_val cji_imm_int(cj_fn *f, int64_t x);
double cji_lit_value(const cji_lit *l);
float cji_lit_single(const cji_lit *l);                      /* as a float: rounded once */

bool cji_fn_has_register(const cj_fn *f, uint32_t name);     /* one of that name, m->names */

/* ---- Functions that are inlined ---- */
/* Whether the instructions of `g` can stand in `f`; else it is called. */
bool cji_inlines(const cj_fn *f, const cj_fn *g);
/* Writes them: `results` are registers of `f`, `args` registers and numbers, as many as `g` has. */
void cji_inline_call(cj_fn *f, const cj_fn *g, const uint32_t *results, const uint32_t *args, const char *call);

/* ---- Results in memory ---- */
cj_val cji_result_bytes(cj_fn *f, const char *name, size_t bytes, const char *call); /* of a function, aligned to 8 */
cj_val cji_call_bytes(cj_fn *f, size_t bytes, const char *call); /* the caller's, for every call of such a function */

/* ---- Tables ---- */

/* Where there is no room for one more record there is room for so many afterwards: small kernels ask once. */
enum { CJI_AHEAD = 16 };
/* index of the count in front of the copied words, SIZE_MAX on failure */
size_t cji_fn_pool(cj_fn *f, const uint32_t *word, size_t n);
void cji_fn_use(cj_fn *f, uint32_t word);
/* the target to print with these flags, and the version; -1: none */
int cji_ptx_pick(const cj_ptx *m, unsigned flags, uint8_t *version);
cji_targets cji_targets_from(unsigned sm);                  /* the targets sm_<sm> and newer */

/* ---- Emitting ---- */

/* Where in m->form_slot[] a form is looked for first. */
static inline size_t cji_form_hash(uint32_t form) { return form * 0x9e3779b1u >> 7; }

/* The instruction with these operands, of which a destination (def_type != 0, or CJI_DEF) is made here and returned;
 * else any non-null value on success. */
enum { CJI_NO_DEF = 0, CJI_DEF = 255 };
cj_val cji_emit(cj_fn *f, cji_form *e, uint32_t guard, const cj_val *v, size_t n, unsigned def_type, const char *call);
void cji_form_short(const cji_form *e, char *out, size_t size, size_t most);   /* its spelling, cut behind a word */
/* cji_ptx_form() without a call where the form is decoded already and the first place that it may have is its own */
static inline cji_form *cji_form_at(cj_ptx *m, uint32_t form)
{
    if (m->nform_slot) {
        const struct cji_form_slot *s = &m->form_slot[cji_form_hash(form) & (m->nform_slot - 1)];
        if (s->form == form && s->index) return m->form[s->index - 1];
    }
    return cji_ptx_form(m, form);
}
/* the form decoded: the process's, or one in the module's arena; NULL with the failure kept */
const cji_isa_form *cji_ptx_isa(cj_ptx *m, uint32_t form);
/* counts what the form needs; false: it cannot be met */
bool cji_form_need(cj_ptx *m, cji_form *e, uint32_t loc);

/* A guard: *word is its REG or NOT word, 0 for a constant that holds, CJI_NEVER for one that does not.  `negate`
 * inverts it.  False on failure. */
#define CJI_NEVER UINT32_MAX
bool cji_guard(cj_fn *f, cj_val p, bool negate, uint32_t *word, const char *call);

#endif
