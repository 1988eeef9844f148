/* cujit/ptx.h - PTX in memory: modules, kernels, functions, variables, operands, instructions, text.
 *
 *   cj_ptx                 a module: kernels, functions, variables
 *    +- cj_fn              a kernel (.entry) or function (.func) in it; belongs to its module
 *    |   +- cj_val         a value in it: register, literal, address, vector, label
 *    +- cj_val             a module variable: usable in every function of the module
 *
 * Two levels of one thing.  cj_ins() and cj_def() take any instruction by the PTX manual's mnemonic and operand order; cujit/verbs.h has the
 * everyday verbs (cj_add, cj_get, cj_set ...), typed by their operands, and cujit/control.h if, loops and calls.
 *
 * Errors.  Nothing needs checking call by call: the first failure stays in the module with the source line of the call (see cujit/lines.h),
 * later calls do nothing and return the null value { 0 } (or, where an object is made, a failed one), which every call accepts; cj_ptx_print(),
 * cj_ptx_status() and loading return it, cj_error_of(m) tells it.  An instruction is appended whole or not at all.
 *
 * Order.  The same calls in the same order give the same text.  C does not order the arguments of a call: nest only pure verbs and loads;
 * atomics, shuffles, votes, barriers and calls are statements of their own.
 *
 * Lifetime.  A module is reference counted: loading it retains it, cj_ptx_free() gives the caller's reference back.  Functions and values belong to
 * the module.  Text and names handed in are copied.
 *
 * Threads.  A module, with everything in it, is used by one thread at a time.  Nothing here touches a driver: it works after fork().
 */
#ifndef CUJIT_PTX_H
#define CUJIT_PTX_H

#include <cujit/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_ptx cj_ptx;
typedef struct cj_fn cj_fn;

/* PTX's state spaces. */
typedef enum cj_space {
    CJ_SPACE_GENERIC = 0,
    CJ_SPACE_CONST = 3,
    CJ_SPACE_GLOBAL = 4,
    CJ_SPACE_LOCAL = 5,
    CJ_SPACE_PARAM = 6,
    CJ_SPACE_SHARED = 7
} cj_space;

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

/* An empty module.  Owned by the caller, free with cj_ptx_free(); a failed object without memory (CJ_ENOMEM). */
CJ_API cj_ptx *cj_ptx_create(void);
CJ_API void cj_ptx_free(cj_ptx *m);

/* A copy that can be changed, also of a module that a load has frozen.  Functions keep their names: cj_ptx_find() finds them; values of `m` are
 * not values of the copy.  Owned by the caller, free with cj_ptx_free().  Errors: those of `m`, CJ_ENOMEM. */
CJ_API cj_ptx *cj_ptx_clone(cj_ptx *m);

/* CJ_OK, or the status of the failure that `m` keeps. */
CJ_API cj_status cj_ptx_status(cj_ptx *m);

/* Fixes what would otherwise be the least that is needed: `version` as "8.0", `target` as "sm_90a".  An instruction that needs more, used before or
 * after, is then a failure that names it.  Errors: CJ_EINVAL (no such version or target), CJ_ENOTSUP (something used needs more). */
CJ_API cj_status cj_ptx_set_version(cj_ptx *m, const char *version);
CJ_API cj_status cj_ptx_set_target(cj_ptx *m, const char *target);

/* What print would write now: the version as major * 10 + minor (80), the target's name (static text).  0 and "" after a failure. */
CJ_API int cj_ptx_version(cj_ptx *m);
CJ_API const char *cj_ptx_target(cj_ptx *m);

/* Flags of cj_ptx_print(). */
enum {
    CJ_PRINT_LINES = 1     /* with .file and .loc, so that profilers, debuggers and the JIT's messages show the source */
};

/* The module's PTX.  *text is NUL-terminated, *bytes (may be NULL) its length without the NUL; it belongs to `m` and stays until the next call that
 * changes, prints or frees `m`.  Errors: the failure that `m` keeps; CJ_ESTATE for an open block; CJ_EPTX for a label that is never placed. */
CJ_API cj_status cj_ptx_print(cj_ptx *m, unsigned flags, const char **text, size_t *bytes);

/* ---- Kernels and functions --------------------------------------------------------------------------------------- */

/* A kernel (.visible .entry) or a device function (.visible .func) with an empty body.  `name` is a PTX identifier, unique in the module, copied.
 * Belongs to `m`; a failed object on error.  Errors: CJ_EINVAL (no identifier, or a name that is taken), CJ_ESTATE (frozen), CJ_ENOMEM. */
CJ_API cj_fn *cj_ptx_kernel(cj_ptx *m, const char *name);
CJ_API cj_fn *cj_ptx_func(cj_ptx *m, const char *name);

/* A function defined in another module that is linked to this one (.extern .func): parameters and results are declared with cj_param() and cj_result(). */
CJ_API cj_fn *cj_ptx_extern_func(cj_ptx *m, const char *name);

/* A kernel or function of `m` by its name.  Belongs to `m`.  Errors: CJ_ENOTFOUND (a failed object; the failure is not kept by `m`). */
CJ_API cj_fn *cj_ptx_find(cj_ptx *m, const char *name);

/* The module that `f` belongs to; NULL for no function. */
CJ_API cj_ptx *cj_fn_module(cj_fn *f);

/* Launch bounds of a kernel.  cj_fn_max_threads: .maxntid, blocks have at most x * y * z threads.  cj_fn_required_threads: .reqntid, exactly these.
 * cj_fn_min_blocks: .minnctapersm, this many blocks are to fit a multiprocessor.  cj_fn_max_registers: .maxnreg.  cj_fn_required_cluster: .reqnctapercluster (PTX 7.8,
 * sm_90).  Zero is CJ_EINVAL. */
CJ_API void cj_fn_max_threads(cj_fn *f, uint32_t x, uint32_t y, uint32_t z);
CJ_API void cj_fn_required_threads(cj_fn *f, uint32_t x, uint32_t y, uint32_t z);
CJ_API void cj_fn_min_blocks(cj_fn *f, uint32_t blocks);
CJ_API void cj_fn_max_registers(cj_fn *f, uint32_t registers);
CJ_API void cj_fn_required_cluster(cj_fn *f, uint32_t x, uint32_t y, uint32_t z);

/* .pragma "text" at this place of the body ("nounroll" before a loop). */
CJ_API void cj_pragma(cj_fn *f, const char *text);

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

/* A scalar parameter, in the order of the calls; its value, in a register (8-bit types widened to 32 bits).  Kernels read it with ld.param,
 * functions get it in a register.  `name` unique in `f`.  Errors: CJ_EINVAL (name, type CJ_VOID or CJ_PRED). */
CJ_API cj_val cj_param(cj_fn *f, const char *name, cj_type type);

/* A pointer parameter to elements of `elem` (CJ_VOID: not said) in global memory: the driver's device addresses.  The value is an address in the
 * global space that cj_get(), cj_set(), cj_at() and the atomics know how to use. */
CJ_API cj_val cj_param_ptr(cj_fn *f, const char *name, cj_type elem);

/* The same with its space and the alignment that every argument has (`align` in bytes, a power of two; 0: not said), which is told to the compiler.
 * Generic pointers are used as they are. */
CJ_API cj_val cj_param_ptr_in(cj_fn *f, const char *name, cj_type elem, cj_space space, uint32_t align);

/* A parameter of `bytes` bytes by value, aligned to `align` (a power of two up to 64): an address in the parameter space, read with cj_load(f, type, cj_mem(f, p, offset)).
 * A tensor map is 128 bytes aligned to 64.  Kernels only. */
CJ_API cj_val cj_param_bytes(cj_fn *f, const char *name, size_t bytes, uint32_t align);

/* A result of a function, in the order of the calls: a register that cj_return() hands back.  `name` unique in `f`.  Functions only. */
CJ_API cj_val cj_result(cj_fn *f, const char *name, cj_type type);

/* ---- Variables --------------------------------------------------------------------------------------------------- */

/* Memory of a kernel: `count` elements.  The value is the variable's address; cj_get(), cj_set(), cj_at(), cj_mem() take it.  cj_shared is one for each block;
 * cj_shared_dynamic is the part whose size the launch says (one for a module; every function that asks gets the same bytes); cj_local one for each thread. */
CJ_API cj_val cj_shared(cj_fn *f, const char *name, cj_type elem, size_t count);
CJ_API cj_val cj_shared_dynamic(cj_fn *f, const char *name, cj_type elem, uint32_t align);
CJ_API cj_val cj_local(cj_fn *f, const char *name, cj_type elem, size_t count);

/* Memory of the module: `count` elements, the first `init_count` of them set to those at `init` (host byte order, copied; NULL and 0: all zero).  cj_ptx_const is read-only
 * to kernels, 64 KiB in all.  The host finds them by name.  Errors: CJ_EINVAL (name, type, count 0, init_count over count). */
CJ_API cj_val cj_ptx_global(cj_ptx *m, const char *name, cj_type elem, size_t count, const void *init, size_t init_count);
CJ_API cj_val cj_ptx_const(cj_ptx *m, const char *name, cj_type elem, size_t count, const void *init, size_t init_count);

/* A variable defined in another module that is linked to this one.  `space`: global or const.  `count` 0: of unknown size. */
CJ_API cj_val cj_ptx_extern(cj_ptx *m, const char *name, cj_space space, cj_type elem, size_t count);

/* Sets the alignment of a variable, in bytes, a power of two (natural otherwise). */
CJ_API void cj_var_align(cj_fn *f, cj_val variable, uint32_t align);
CJ_API void cj_ptx_var_align(cj_ptx *m, cj_val variable, uint32_t align);

/* ---- Registers and literals -------------------------------------------------------------------------------------- */

/* A new register; `n` of them as one vector operand {a, b, ...}, n from 1 to 256.  Undefined until written. */
CJ_API cj_val cj_reg(cj_fn *f, cj_type type);
CJ_API cj_val cj_regs(cj_fn *f, cj_type type, size_t n);

/* A number of its place's type: an instruction that wants .f32 there makes an .f32 of it.  cj_imm_bits is one of a given type, from its bits. */
CJ_API cj_val cj_imm_i(cj_fn *f, int64_t x);
CJ_API cj_val cj_imm_u(cj_fn *f, uint64_t x);
CJ_API cj_val cj_imm_f32(cj_fn *f, float x);
CJ_API cj_val cj_imm_f64(cj_fn *f, double x);
CJ_API cj_val cj_imm_bits(cj_fn *f, cj_type type, uint64_t bits);

/* The type of a value: a register's, a vector's elements', a variable's or pointer's (CJ_U64 or the like, not what it points to); CJ_VOID where it has none. */
CJ_API cj_type cj_type_of(cj_val v);

/* What a pointer or variable points to, and where. */
CJ_API cj_type cj_elem_of(cj_fn *f, cj_val v);
CJ_API cj_space cj_space_of(cj_fn *f, cj_val v);

/* Says what an address in a register points to, so that cj_get() and the others can use it: the same register. */
CJ_API cj_val cj_as_ptr(cj_fn *f, cj_val address, cj_type elem, cj_space space);

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

/* [base + offset]: `base` a pointer, an address register, a variable or a number; offset in bytes. */
CJ_API cj_val cj_mem(cj_fn *f, cj_val base, int64_t offset);

/* {a, b, ...}: `n` values from 1 to 256; cj_vec(f, a, b) is the handy form.  cj_elem is its i-th element. */
CJ_API cj_val cj_vec_n(cj_fn *f, const cj_val *v, size_t n);
CJ_API cj_val cj_elem(cj_fn *f, cj_val vec, size_t i);

/* a|b: a second destination.  !p: a predicate negated (also for cj_if and the other places that take a predicate).  _: a result that is not wanted. */
CJ_API cj_val cj_pair(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_not(cj_fn *f, cj_val p);
CJ_API cj_val cj_sink(cj_fn *f);

/* (a, b, ...): a call's arguments or results, for cj_ins(f, "call", ...). */
CJ_API cj_val cj_list_n(cj_fn *f, const cj_val *v, size_t n);

/* A function as an operand of call or mov. */
CJ_API cj_val cj_fn_val(cj_fn *f, cj_fn *callee);

/* A special register by the manual's name, "%laneid", for mov.  Errors: CJ_EUNKNOWN. */
CJ_API cj_val cj_sreg(cj_fn *f, const char *name);

/* [object, {coordinates}] and [object, sampler, {coordinates}] of the texture instructions; `sampler` null for the first; `coordinates` a vector. */
CJ_API cj_val cj_texmem(cj_fn *f, cj_val object, cj_val sampler, cj_val coordinates);

/* A label, and its place: each is placed once. */
CJ_API cj_val cj_label(cj_fn *f);
CJ_API void cj_label_bind(cj_fn *f, cj_val label);

/* A .branchtargets list of `n` labels, declared here, for brx.idx. */
CJ_API cj_val cj_branch_targets(cj_fn *f, const cj_val *labels, size_t n);

/* ---- Instructions ------------------------------------------------------------------------------------------------ */

/* A resolved mnemonic, good for every module of this process; { 0 } is none. */
typedef struct cj_op { uint32_t form; } cj_op;

/* Looks a mnemonic up: "fma.rn.ftz.f32".  { 0 } when there is none; cj_error_last() then says why (CJ_EUNKNOWN).  Any thread. */
CJ_API cj_op cj_op_find(const char *mnemonic);

/* Appends the instruction with `n` operands in the manual's order.  `guard` (in the _if and _unless forms): a predicate, @p and @!p.
 * Errors: CJ_EUNKNOWN (no such mnemonic), CJ_EPTX (operands), CJ_ENOTSUP (needs more than was fixed), CJ_ESTATE (frozen). */
CJ_API void cj_ins_n(cj_fn *f, const char *mnemonic, const cj_val *v, size_t n);
CJ_API void cj_ins_if_n(cj_fn *f, cj_val guard, const char *mnemonic, const cj_val *v, size_t n);
CJ_API void cj_ins_unless_n(cj_fn *f, cj_val guard, const char *mnemonic, const cj_val *v, size_t n);

/* The same with the destination, the first operand, made here: a register of the instruction's type, or a vector of them. */
CJ_API cj_val cj_def_n(cj_fn *f, const char *mnemonic, const cj_val *v, size_t n);

/* The same by resolved mnemonic.  (cj_op is passed by number: bindings hand the struct's only field on.) */
CJ_API void cj_ins_form(cj_fn *f, uint32_t form, cj_val guard, const cj_val *v, size_t n);
CJ_API cj_val cj_def_form(cj_fn *f, uint32_t form, const cj_val *v, size_t n);
static inline void cj_ins_op(cj_fn *f, cj_op op, const cj_val *v, size_t n) { const cj_val always = { 0 }; cj_ins_form(f, op.form, always, v, n); }
static inline cj_val cj_def_op(cj_fn *f, cj_op op, const cj_val *v, size_t n) { return cj_def_form(f, op.form, v, n); }

/* ---- Source lines ------------------------------------------------------------------------------------------------ */

/* Sets the source line of what follows, for a language's own source: `file` is copied; calls' own C lines are then ignored until cj_line(f, NULL, 0). */
CJ_API void cj_line(cj_fn *f, const char *file, int line);
CJ_API void cj_ptx_line(cj_ptx *m, const char *file, int line);

/* What cujit/lines.h wraps around each call: notes where it stands and gives its first argument back.  `file` must stay as long as `f`. */
CJ_API cj_fn *cj_here(cj_fn *f, const char *file, int line);
CJ_API cj_ptx *cj_here_ptx(cj_ptx *m, const char *file, int line);

#ifdef __cplusplus
}
#endif

#include <cujit/verbs.h>
#include <cujit/control.h>
#include <cujit/operands.h>
#include <cujit/verbs_numbers.h>
#include <cujit/lines.h>

#endif
