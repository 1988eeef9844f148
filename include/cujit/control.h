/* cujit/control.h - structured control flow and calls.  ptx.h includes it.
 *
 *     cj_val i = cj_for(f, 0, n, 1);
 *         cj_if(f, cj_lt(f, i, limit));
 *             cj_continue(f);
 *         cj_end(f);
 *     cj_end(f);
 *
 * cj_if, cj_loop, cj_while and cj_for open a code block, and cj_end closes it.  Code blocks nest.
 * cj_ptx_print and loading fail while one is open.  cj_label, cj_label_bind and branches may be
 * used inside and outside of code blocks.
 *
 * Each verb writes its result to a new register.  To change a value in a loop or in a branch, make
 * a register with cj_let before it and write the register with cj_assign inside.
 *
 * A condition is a predicate, a cj_not of one, or a constant: a comparison of numbers, or a number,
 * which holds unless it is 0.  With a constant, the branch that depends on the condition is emitted
 * without a condition or is omitted.  Code that can then not be reached is still emitted.
 *
 * Errors.  Each call can fail with the errors that ptx.h lists for all calls.  A call with a
 * condition can also fail with this one:
 *   CJ_EPTX: the condition is neither a predicate nor a constant
 */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_CONTROL_H
#define CUJIT_CONTROL_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Code blocks ----------------------------------------------------------------------------- */

/* Opens a code block that runs if `p` holds. */
CJ_API void cj_if(cj_fn *f, cj_val p);

/* Closes the code block of cj_if and opens one that runs if the condition of cj_if does not hold.
 * Errors, left in the module:
 *   CJ_ESTATE: the innermost code block is not a cj_if without cj_else */
CJ_API void cj_else(cj_fn *f);

/* Opens a loop without a condition: cj_break and cj_return leave it. */
CJ_API void cj_loop(cj_fn *f);

/* Opens a loop that repeats while `p` holds.  `p` is tested before each iteration.  If it is a
 * register, the body must change it with cj_assign or leave the loop. */
CJ_API void cj_while(cj_fn *f, cj_val p);

/* Opens a loop: for (i = from; i < to; i += step).  Returns the counter i, a new register that the
 * body reads.  Its type is the integer type of the operands.  If all three are numbers, it is
 * CJ_U32, CJ_S32 if one of them is negative, or 64 bits wide if they need it.
 * If `step` is a negative number, the loop counts down while i > to.  A `step` in a register always
 * counts up.  `to` and `step` in registers are read again in each iteration.  cj_continue jumps to
 * the increment.
 *
 * The first i at which the loop ends must fit the type of i; else i wraps and the loop continues.
 * So cj_for(f, n, 0, -1) is correct for an unsigned n: it counts from n down to 1 and ends at 0.
 * Errors, left in the module:
 *   CJ_EPTX: the operands are not integers of 16 to 64 bits of one type
 *   CJ_EINVAL: `step` is the number 0 */
CJ_API cj_val cj_for(cj_fn *f, cj_val from, cj_val to, cj_val step);

/* Closes the innermost code block.
 * Errors, left in the module:
 *   CJ_ESTATE: no code block is open */
CJ_API void cj_end(cj_fn *f);

/* Leaves the innermost loop: always, if `p` holds, unless `p` holds.
 * Errors, left in the module:
 *   CJ_ESTATE: no loop is open */
CJ_API void cj_break(cj_fn *f);
CJ_API void cj_break_if(cj_fn *f, cj_val p);
CJ_API void cj_break_unless(cj_fn *f, cj_val p);

/* Continues with the next iteration of the innermost loop: always, if `p` holds, unless `p` holds.
 * Errors, left in the module:
 *   CJ_ESTATE: no loop is open */
CJ_API void cj_continue(cj_fn *f);
CJ_API void cj_continue_if(cj_fn *f, cj_val p);
CJ_API void cj_continue_unless(cj_fn *f, cj_val p);

/* ---- Functions ------------------------------------------------------------------------------- */

/* Ends the kernel for this thread, or returns from the function: always, or if `p` holds.  The end
 * of a body returns too. */
CJ_API void cj_return(cj_fn *f);
CJ_API void cj_return_if(cj_fn *f, cj_val p);

/* Sets a function's only result and returns.  Declares the result if cj_result has not.
 * Errors, left in the module:
 *   CJ_ESTATE: `f` is a kernel, has several results, or has a result in memory
 *   CJ_EPTX: the value has another type than the result */
CJ_API void cj_return_value(cj_fn *f, cj_val v);

/* Calls a function of the same module with `n` arguments; cj_call(f, callee, a, b) is the short
 * form.  The parameters and results of `callee` must be declared before its first call.  There are
 * at most 64 of each.  Returns the first result, or the null value if there is none.
 * `args`: Copied.
 * A function with a parameter or result in the .param space is called with cj_ins.
 * Errors, left in the module:
 *   CJ_EPTX: the number or a type of the arguments is wrong, there are more than 64 parameters or
 *     results, or one is in the .param space
 *   CJ_EINVAL: `callee` is a kernel or of another module
 *   CJ_ESTATE: `callee` is inline and has an open block, a label without a place, or no body yet */
CJ_API cj_val cj_call_n(cj_fn *f, cj_fn *callee, const cj_val *args, size_t n);

/* The same, with all results written into the registers of `results`.  `results`, `args`: Copied.
 * Errors, left in the module: those of cj_call_n. */
CJ_API void cj_call_into(cj_fn *f, cj_fn *callee, const cj_val *results, size_t nresults, const cj_val *args, size_t n);

/* Makes `f` an inline function, and so the functions that it calls: a later call of it writes its
 * instructions instead.  All of them must be complete by then.  Comments come along, and with the
 * first copy names of registers.  It saves what a call costs, and kernels with wgmma need it: where
 * the driver's linker is to join a function, ptxas has each wgmma wait for the one before.
 * A function stays called where it has variables of its own, lists of labels, or results or
 * parameters that are no single registers with a number; where it calls itself, or is behind 16
 * other calls; and where it uses a variable of the module whose name the caller has for something
 * else.
 * Errors, left in the module:
 *   CJ_EINVAL: `f` is a kernel, or has no body here */
CJ_API void cj_fn_inline(cj_fn *f);

#ifdef __cplusplus
}
#endif
#endif
