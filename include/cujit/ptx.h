/* cujit/ptx.h - PTX in memory: modules, kernels, functions, variables, operands, instructions.
 *
 *     cj_ptx              a module: kernels, functions, variables
 *       cj_fn ........... a kernel (.entry) or a device function (.func) of the module
 *         cj_val ........ a value of the function: register, literal, address, vector, label
 *       cj_val .......... a variable of the module, for every function of it
 *
 * Two levels build the same instructions.  cj_ins and cj_def take the PTX manual's mnemonic and its
 * operand order (operands.h).  The verbs take their type from their operands: cj_add, cj_get,
 * cj_set (verbs.h).  control.h has cj_if, loops and calls.
 *
 * Lifetime.  A module is reference counted.  A module that is loaded keeps what it needs, so the
 * builder may be freed then.  Functions and values belong to their module.  Texts and names are
 * copied.
 *
 * Threads.  One thread at a time, for a module and everything in it.  No call of this header needs
 * a driver.  All calls work after fork().
 *
 * Order.  The same calls in the same order give the same text.  C leaves the order of a call's
 * arguments open.  Nest only verbs that compute and loads.  Atomics, shuffles, votes, barriers and
 * calls are statements of their own.
 *
 * Errors.  No call needs a check.  The first failure stays in the module, with the source line of
 * the call (lines.h).  Later calls do nothing and return the null value { 0 } or a failed object,
 * which every call accepts.  cj_ptx_status, cj_ptx_print and loading return the failure.
 * cj_error_of(m) has its sentence.  An instruction is appended whole or not at all.
 * Each call that changes a module can fail with these, and lists only what else it can fail with:
 *   CJ_EHANDLE: the module or function is NULL or of another type
 *   CJ_ESTATE: the module is loaded and therefore frozen; change a cj_ptx_clone of it
 *   CJ_EPTX: an operand is the null value, or a value of another function
 *   CJ_ENOTSUP: an instruction or type needs more than cj_ptx_set_version or _target allow
 *   CJ_ENOMEM: host memory is exhausted
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

/* ---- Modules --------------------------------------------------------------------------------- */

/* Creates an empty module.
 * Never NULL.  Owned by the caller, free with cj_ptx_free.  Any thread.
 * Errors, in the failed object that is returned:
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_ptx *cj_ptx_create(void);

/* Frees the module, its functions and its values.  May be NULL. */
CJ_API void cj_ptx_free(cj_ptx *m);

/* Returns a copy that can be changed, also of a frozen module.  The functions keep their names:
 * cj_ptx_find finds them.  Values of `m` are not values of the copy.
 * Never NULL.  Owned by the caller, free with cj_ptx_free.
 * Errors, in the failed object that is returned:
 *   CJ_ENOMEM: host memory is exhausted
 *   the failure that `m` keeps */
CJ_API cj_ptx *cj_ptx_clone(cj_ptx *m);

/* Returns CJ_OK, or the status of the failure that `m` keeps. */
CJ_API cj_status cj_ptx_status(cj_ptx *m);

/* Sets the PTX version, as "8.0".  By default it is the least that the module needs.  An
 * instruction that needs more, before this call or after it, is then a failure that names it.
 * Errors, left in `m`:
 *   CJ_EINVAL: `version` is not a PTX version from 2.3 on
 *   CJ_ENOTSUP: an instruction or the target needs a higher version */
CJ_API cj_status cj_ptx_set_version(cj_ptx *m, const char *version);

/* Sets the target, as "sm_90a".  By default it is the least that the module needs.
 * Errors, left in `m`:
 *   CJ_EINVAL: `target` is not a target
 *   CJ_ENOTSUP: an instruction needs another target, or the target a higher version */
CJ_API cj_status cj_ptx_set_target(cj_ptx *m, const char *target);

/* The version that printing writes now, as major * 10 + minor: 80.  0 after a failure. */
CJ_API int cj_ptx_version(cj_ptx *m);

/* The target that printing writes now.  Static text.  "" after a failure. */
CJ_API const char *cj_ptx_target(cj_ptx *m);

/* Returns 1 if the module may have instructions that need `target`, as "sm_80": its target is not
 * set, or has all that `target` has.  For code that has a better form on newer devices.  Else
 * returns 0, and for what is no target. */
CJ_API int cj_ptx_allows(cj_ptx *m, const char *target);

/* Checks what printing and loading accept and ptxas and cuLinkComplete reject: that each kernel has
 * at most 48 KiB of static shared memory, with the functions that it may call, each function at
 * most 512 KiB of local variables, and functions that are called no parameters and results of text
 * in types that ptxas does not pass: .pred, and .u8, .s8, .u16 and .s16 in memory.  Local variables
 * and shared variables of the module count where an instruction names them.
 * The driver's compiler is not as strict: what cj_module_load compiles launches with as much static
 * shared memory as a block of the device can have (227 KiB on an H100).
 * Errors, left in `m`:
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EPTX: a kernel has too much static shared memory, a function too many local variables, or
 *     one that is called a parameter that is not passed; the message names the variable and line
 *   the errors of cj_ptx_print */
CJ_API cj_status cj_ptx_check(cj_ptx *m);

/* Flags of cj_ptx_print. */
enum {
    CJ_PRINT_LINES = 1,   /* with .file and .loc, for profilers, debuggers and messages of the JIT */
    CJ_PRINT_COMMENTS = 2 /* with the comments of cj_comment */
};

/* Returns the module's PTX: *text with a NUL at its end, and its length without the NUL in *bytes.
 * The text is borrowed until the next call that changes, prints or frees `m`.
 * `text`, `bytes`: May be NULL.
 * Errors, left in `m`:
 *   CJ_ESTATE: a block is open (cj_end is missing)
 *   CJ_EPTX: a label is used and never bound
 *   CJ_ENOTSUP: no target has everything that the module uses
 *   the failure that `m` keeps */
CJ_API cj_status cj_ptx_print(cj_ptx *m, unsigned flags, const char **text, size_t *bytes);

/* Writes a hash of the module to the 16 bytes of `hash`: a key for what is made of it.  It is that
 * of the text of cj_ptx_print(m, 0, ...): modules that print the same text have the same hash, in
 * every process, whether they were built or read, or a program of cj_ptx_reproducer makes them.
 * It takes hardly longer than printing.  It is no checksum against an attacker.
 * Errors, left in `m`:
 *   CJ_EINVAL: `hash` is NULL
 *   the errors of cj_ptx_print */
CJ_API cj_status cj_ptx_hash(cj_ptx *m, void *hash);

/* Writes a C program to the file `path`.  The program makes the module, with the same cj_ptx_hash,
 * and prints the text that cj_ptx_print(m, 0, ...) gives: for reports of errors, and as a beginning
 * for a builder of one's own.  It needs the public headers and libcujit only.  It has calls that a
 * person would write: verbs, cj_if and loops where they make the same instructions, else cj_def,
 * cj_ins and labels.
 * Comments name the source lines.  What no call makes (a name of a label, .weak, .alias, debug data
 * ...) is in texts alone: the program of such a module contains its PTX and reads it with cj_parse.
 * `m` may be loaded.  An older file is replaced when the new one is whole, else it stays.
 * Errors, left in `m`: those of cj_ptx_print.  Errors that `m` does not keep (cj_error_last):
 *   CJ_EINVAL: `path` is NULL or empty, or the file cannot be written
 *   CJ_ENOTSUP: neither calls nor cj_parse make the same text
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_ptx_reproducer(cj_ptx *m, const char *path);

/* ---- Kernels and functions ------------------------------------------------------------------- */

/* Makes a kernel (.visible .entry) or a device function (.visible .func) with an empty body.
 * `name`: a PTX identifier that is unique in the module.  Copied.
 * Never NULL.  Belongs to `m`.
 * Errors, left in `m`:
 *   CJ_EINVAL: `name` is not an identifier, or it is used already */
CJ_API cj_fn *cj_ptx_kernel(cj_ptx *m, const char *name);
CJ_API cj_fn *cj_ptx_func(cj_ptx *m, const char *name);

/* Declares a function that another module defines (.extern .func), for modules that are linked.
 * cj_param and cj_result declare its parameters and results.  It has no body.
 * Never NULL.  Belongs to `m`.
 * Errors, left in `m`:
 *   CJ_EINVAL: `name` is not an identifier, or it is used already */
CJ_API cj_fn *cj_ptx_extern_func(cj_ptx *m, const char *name);

/* Returns the kernel or function of that name.
 * Never NULL.  Belongs to `m`.
 * Errors, in the failed object that is returned; `m` does not keep them:
 *   CJ_ENOTFOUND: the module has no function of that name */
CJ_API cj_fn *cj_ptx_find(cj_ptx *m, const char *name);

/* Returns the module of `f`.  Borrowed until cj_ptx_free.  NULL for a failed function. */
CJ_API cj_ptx *cj_fn_module(cj_fn *f);

/* Sets the largest block (.maxntid) or the exact block (.reqntid) of a kernel, in threads.
 * Errors, left in the module:
 *   CJ_EINVAL: a number is 0, the block has more than 1024 threads, `f` is not a kernel, or it has
 *     the other of the two */
CJ_API void cj_fn_max_threads(cj_fn *f, uint32_t x, uint32_t y, uint32_t z);
CJ_API void cj_fn_required_threads(cj_fn *f, uint32_t x, uint32_t y, uint32_t z);

/* Sets how many blocks of a kernel are to fit a multiprocessor (.minnctapersm), or how many
 * registers each thread may have (.maxnreg).
 * Errors, left in the module:
 *   CJ_EINVAL: the number is 0 or more than 64 blocks or 255 registers, or `f` is not a kernel */
CJ_API void cj_fn_min_blocks(cj_fn *f, uint32_t blocks);
CJ_API void cj_fn_max_registers(cj_fn *f, uint32_t registers);

/* Sets the exact cluster of a kernel, in blocks (.reqnctapercluster, PTX 7.8, sm_90).
 * Errors, left in the module:
 *   CJ_EINVAL: a number is 0 or more than 16, or `f` is not a kernel */
CJ_API void cj_fn_required_cluster(cj_fn *f, uint32_t x, uint32_t y, uint32_t z);

/* Appends .pragma "text" to the body: "nounroll" in front of a loop.  `text`: Copied.
 * Errors, left in the module:
 *   CJ_EINVAL: `text` is empty, has a quote or newline, or more than 200 characters */
CJ_API void cj_pragma(cj_fn *f, const char *text);

/* Gives the register of `v` a name in the printed text: %sum; those of a vector %sum_0, %sum_1 and
 * so on.  A name that is taken, or that PTX has a meaning for, gets a number behind it.  Numbers
 * and parameters of functions stay as they are.
 * Names are part of the text, and so of its hash.
 * `v`: Null does nothing.
 * `name`: Copied.
 * Errors, left in the module:
 *   CJ_EINVAL: `name` is NULL or not an identifier */
CJ_API void cj_name(cj_fn *f, cj_val v, const char *name);

/* Notes a comment in front of the next instruction.  cj_ptx_print writes it with CJ_PRINT_COMMENTS,
 * each line of `text` behind "//".  What is compiled and hashed does not have it.
 * `text`: Copied.
 * Errors, left in the module:
 *   CJ_EINVAL: `text` is NULL */
CJ_API void cj_comment(cj_fn *f, const char *text);

/* ---- Parameters: in the order of the calls --------------------------------------------------- */

/* Declares a scalar parameter and returns its value in a register; 8-bit types are widened to 32
 * bits.  A kernel reads it with ld.param.  A function receives it in a register.
 * `name`: unique in `f`.  Copied.  Belongs to the module.
 * Errors, left in the module:
 *   CJ_EINVAL: `name` is not an identifier or used already, `type` is CJ_VOID or CJ_PRED
 *   CJ_ESTATE: a block is open, or cj_call has called `f` */
CJ_API cj_val cj_param(cj_fn *f, const char *name, cj_type type);

/* Declares a pointer to elements of type `elem` in global memory, as the driver's device addresses
 * are.  The value is an address that cj_get, cj_set, cj_at and the atomics use.
 * `elem`: CJ_VOID if it is not known.
 * Errors, left in the module: those of cj_param. */
CJ_API cj_val cj_param_ptr(cj_fn *f, const char *name, cj_type elem);

/* The same in another state space.  `align`: the alignment of each argument in bytes, a power of
 * two, which the compiler uses; 0 if it is not known.
 * Errors, left in the module: those of cj_param, and
 *   CJ_EINVAL: `align` is not a power of two, or pointers do not exist in `space` */
CJ_API cj_val cj_param_ptr_in(cj_fn *f, const char *name, cj_type elem, cj_space space, uint32_t align);

/* Declares a parameter of 1 to 32764 bytes by value, aligned to `align`: a power of two up to 128.
 * The value is an address in the parameter space: cj_load(f, type, cj_mem(f, p, offset)) reads it.
 * A tensor map has 128 bytes and the alignment 64.  Kernels only.
 * Errors, left in the module: those of cj_param, and
 *   CJ_EINVAL: `bytes` or `align` is out of range, or `f` is not a kernel */
CJ_API cj_val cj_param_bytes(cj_fn *f, const char *name, size_t bytes, uint32_t align);

/* Declares a result of a function: a register that cj_return returns.  Functions only.
 * ptxas gives a function with several results no ABI: a driver compiles its module whole, whenever
 * it is loaded, and no cj_linker takes it.
 * Errors, left in the module: those of cj_param, and
 *   CJ_EINVAL: `f` is a kernel */
CJ_API cj_val cj_result(cj_fn *f, const char *name, cj_type type);

/* ---- Variables ------------------------------------------------------------------------------- */

/* Declares `count` elements of shared memory, one copy for each block, or of local memory, one copy
 * for each thread.  The value is the variable's address: cj_get, cj_set, cj_at and cj_mem take it.
 * `name`: unique in `f`; not that of a variable of the module which `f` uses.  Copied.
 * Errors, left in the module:
 *   CJ_EINVAL: `name` is not an identifier or used already, `type` is CJ_VOID or CJ_PRED,
 *     `count` is 0 or beyond any memory */
CJ_API cj_val cj_shared(cj_fn *f, const char *name, cj_type elem, size_t count);
CJ_API cj_val cj_local(cj_fn *f, const char *name, cj_type elem, size_t count);

/* Declares the shared memory whose size the launch gives (cj_dims_shared).  A module has one such
 * area: each function that declares it has the same bytes.  `align`: in bytes; 0: natural.
 * A launch with 0 bytes fails with CJ_EINVAL if an instruction of the kernel uses the variable.
 * Errors, left in the module:
 *   CJ_EINVAL: `name` is not an identifier, or used already, also by a parameter or variable of
 *     `f`; `align` is not a power of two */
CJ_API cj_val cj_shared_dynamic(cj_fn *f, const char *name, cj_type elem, uint32_t align);

/* Declares `count` elements of global or constant memory.  The first `n` of them start as
 * those at `init`, in host byte order; the others are 0.  Kernels only read constant memory, of
 * which a module has 64 KiB.  cj_module_var finds the variable by name.
 * `init`: Copied.  May be NULL if `n` is 0.
 * Errors, left in `m`:
 *   CJ_EINVAL: `name` is not an identifier or used already, `elem` is CJ_VOID or CJ_PRED,
 *     `count` is 0, `n` is more than `count`, or constant memory is exhausted */
CJ_API cj_val cj_ptx_global(cj_ptx *m, const char *name, cj_type elem, size_t count, const void *init, size_t n);
CJ_API cj_val cj_ptx_const(cj_ptx *m, const char *name, cj_type elem, size_t count, const void *init, size_t n);

/* Declares a variable that another module defines, for modules that are linked.
 * `space`: global or const.  `count`: 0 if the size is not known.
 * Errors, left in `m`:
 *   CJ_EINVAL: `name` is not an identifier or used already, `space` is another one */
CJ_API cj_val cj_ptx_extern(cj_ptx *m, const char *name, cj_space space, cj_type elem, size_t count);

/* Sets the alignment of a variable of the function or module, in bytes.
 * Errors, left in the module:
 *   CJ_EINVAL: the value is not a variable, or `align` is not a power of two */
CJ_API void cj_var_align(cj_fn *f, cj_val variable, uint32_t align);
CJ_API void cj_ptx_var_align(cj_ptx *m, cj_val variable, uint32_t align);

/* ---- Registers and literals ------------------------------------------------------------------ */

/* Returns a new register, or a vector operand {a, b, ...} of `n` new registers, n from 1 to 256.
 * A register has no value until an instruction writes it.
 * Errors, left in the module:
 *   CJ_EINVAL: `type` is CJ_VOID or does not exist
 *   CJ_EPTX: `n` is out of range */
CJ_API cj_val cj_reg(cj_fn *f, cj_type type);
CJ_API cj_val cj_regs(cj_fn *f, cj_type type, size_t n);

/* Returns an untyped literal.  It takes the type of the operand that it is used as: an instruction
 * that wants .f32 there has the number as an .f32. */
CJ_API cj_val cj_imm_i(cj_fn *f, int64_t x);
CJ_API cj_val cj_imm_u(cj_fn *f, uint64_t x);
CJ_API cj_val cj_imm_f32(cj_fn *f, float x);
CJ_API cj_val cj_imm_f64(cj_fn *f, double x);

/* Returns a literal of type `type` from its bits.
 * Errors, left in the module:
 *   CJ_EINVAL: the type has fewer bits, or no literals */
CJ_API cj_val cj_imm_bits(cj_fn *f, cj_type type, uint64_t bits);

/* The type of a value: of a register, of a vector's elements, of a pointer itself (CJ_U64).
 * CJ_VOID for a value without a type. */
CJ_API cj_type cj_type_of(cj_val v);

/* The type of the elements that a pointer or variable points to, and their state space. */
CJ_API cj_type cj_elem_of(cj_fn *f, cj_val v);
CJ_API cj_space cj_space_of(cj_fn *f, cj_val v);

/* Sets what the address in a register points to, so that cj_get and the other verbs can use it.
 * Returns the same register.
 * Errors, left in the module:
 *   CJ_EPTX: `address` is not an integer register of 64 or 32 bits */
CJ_API cj_val cj_as_ptr(cj_fn *f, cj_val address, cj_type elem, cj_space space);

/* ---- Operands -------------------------------------------------------------------------------- */

/* [base + offset]: `base` is a pointer, an address register, a variable or a number; `offset` is in
 * bytes.
 * Errors, left in the module:
 *   CJ_EPTX: `base` is another value */
CJ_API cj_val cj_mem(cj_fn *f, cj_val base, int64_t offset);

/* {a, b, ...}: `n` registers and numbers, n from 1 to 256.  cj_vec(f, a, b) is the short form.
 * `v`: Copied.
 * Errors, left in the module:
 *   CJ_EPTX: `n` is out of range, or an element is another value */
CJ_API cj_val cj_vec_n(cj_fn *f, const cj_val *v, size_t n);

/* Returns element `i` of a vector.
 * Errors, left in the module:
 *   CJ_EPTX: `vec` is not a vector
 *   CJ_EINVAL: the vector has fewer elements */
CJ_API cj_val cj_elem(cj_fn *f, cj_val vec, size_t i);

/* a|b: a destination with a second one. */
CJ_API cj_val cj_pair(cj_fn *f, cj_val a, cj_val b);

/* !p: a negated predicate, wherever a predicate is used.
 * Errors, left in the module:
 *   CJ_EPTX: `p` is not a predicate */
CJ_API cj_val cj_not(cj_fn *f, cj_val p);

/* _: a destination that drops its value. */
CJ_API cj_val cj_sink(cj_fn *f);

/* (a, b, ...): arguments or results of cj_ins(f, "call", ...), up to 256.  `v`: Copied.
 * Errors, left in the module:
 *   CJ_EPTX: `n` is out of range */
CJ_API cj_val cj_list_n(cj_fn *f, const cj_val *v, size_t n);

/* A function as an operand of call or mov.
 * Errors, left in the module:
 *   CJ_EPTX: `callee` is of another module */
CJ_API cj_val cj_fn_val(cj_fn *f, cj_fn *callee);

/* A special register by the manual's name, as "%laneid", for mov.
 * Errors, left in the module:
 *   CJ_EUNKNOWN: there is no such special register */
CJ_API cj_val cj_sreg(cj_fn *f, const char *name);

/* [object, {coordinates}], or [object, sampler, {coordinates}]: an operand of texture instructions.
 * `sampler`: the null value for the first form.  `coordinates`: a vector.
 * Errors, left in the module:
 *   CJ_EPTX: `coordinates` is not a vector */
CJ_API cj_val cj_texmem(cj_fn *f, cj_val object, cj_val sampler, cj_val coordinates);

/* Returns a new label, for branches. */
CJ_API cj_val cj_label(cj_fn *f);

/* Binds a label to this point of the body.  Each label is bound once.
 * Errors, left in the module:
 *   CJ_EPTX: `label` is not a label, or it is bound already */
CJ_API void cj_label_bind(cj_fn *f, cj_val label);

/* Declares a .branchtargets list of `n` labels here, for brx.idx; n from 1 to 256.
 * `labels`: Copied.
 * Errors, left in the module:
 *   CJ_EPTX: `n` is out of range, or an element is not a label */
CJ_API cj_val cj_branch_targets(cj_fn *f, const cj_val *labels, size_t n);

/* ---- Instructions ---------------------------------------------------------------------------- */

/* A resolved mnemonic, for every module of this process.  { 0 } is none. */
typedef struct cj_op { uint32_t form; } cj_op;

/* Looks up a mnemonic: "fma.rn.ftz.f32".  Any thread.
 * Returns { 0 } if it does not exist; cj_error_last has the reason:
 *   CJ_EUNKNOWN: there is no such instruction, or a modifier is missing or wrong */
CJ_API cj_op cj_op_find(const char *mnemonic);

/* Appends an instruction with `n` operands in the manual's order; cj_ins(f, mnemonic, a, b) is the
 * short form.  In the forms with _if and _unless `guard` is a predicate: @p and @!p.  With a
 * constant guard the instruction is appended without it, or not at all.  `v`: Copied.
 * Errors, left in the module:
 *   CJ_EUNKNOWN: there is no such mnemonic
 *   CJ_EPTX: an operand does not fit */
CJ_API void cj_ins_n(cj_fn *f, const char *mnemonic, const cj_val *v, size_t n);
CJ_API void cj_ins_if_n(cj_fn *f, cj_val guard, const char *mnemonic, const cj_val *v, size_t n);
CJ_API void cj_ins_unless_n(cj_fn *f, cj_val guard, const char *mnemonic, const cj_val *v, size_t n);

/* The same with a new destination, the first operand, which it returns: a register of the
 * instruction's type, or a vector of them.
 * Errors, left in the module: those of cj_ins_n. */
CJ_API cj_val cj_def_n(cj_fn *f, const char *mnemonic, const cj_val *v, size_t n);

/* The same by a resolved mnemonic.  The first two take the number in a cj_op, for bindings.
 * `guard`: the null value for none.
 * Errors, left in the module:
 *   CJ_EINVAL: the mnemonic is { 0 }
 *   CJ_EPTX: an operand does not fit */
CJ_API void cj_ins_form(cj_fn *f, uint32_t form, cj_val guard, const cj_val *v, size_t n);
CJ_API cj_val cj_def_form(cj_fn *f, uint32_t form, const cj_val *v, size_t n);
static inline void cj_ins_op(cj_fn *f, cj_op op, const cj_val *v, size_t n)
{
    const cj_val always = { 0 };
    cj_ins_form(f, op.form, always, v, n);
}
static inline cj_val cj_def_op(cj_fn *f, cj_op op, const cj_val *v, size_t n)
{
    return cj_def_form(f, op.form, v, n);
}

/* ---- Source lines ---------------------------------------------------------------------------- */

/* Sets the source line of the calls that follow, for a language with its own source.  The C lines
 * of the calls are ignored until cj_line(f, NULL, 0).  `file`: Copied.  May be NULL. */
CJ_API void cj_line(cj_fn *f, const char *file, int line);
CJ_API void cj_ptx_line(cj_ptx *m, const char *file, int line);

/* Notes the C line of a call and returns the first argument.  lines.h wraps each call with it.
 * `file`: Borrowed until cj_ptx_free. */
CJ_API cj_fn *cj_here(cj_fn *f, const char *file, int line);
CJ_API cj_ptx *cj_here_ptx(cj_ptx *m, const char *file, int line);

#ifdef __cplusplus
}
#endif

#include <cujit/verbs.h>
#include <cujit/control.h>
#include <cujit/math.h>
#include <cujit/blocks.h>
#include <cujit/async.h>
#include <cujit/tensor_core.h>
#include <cujit/operands.h>
#include <cujit/verbs_numbers.h>
#include <cujit/lines.h>

#endif
