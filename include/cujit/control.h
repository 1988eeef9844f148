/* cujit/control.h - structured control flow and calls; included by cujit/ptx.h.
 *
 * cj_if, cj_loop, cj_while and cj_for open a block that cj_end closes; they nest.  A predicate may be cj_not(f, p).  Inside a loop a register keeps
 * its value only where it is written with cj_assign(): verbs make new registers.  Blocks left open are an error when the module is printed or loaded.
 * Labels and branches (cj_label, cj_label_bind, cj_ins_if(f, p, "bra", label)) can be mixed in.
 */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_CONTROL_H
#define CUJIT_CONTROL_H

#ifdef __cplusplus
extern "C" {
#endif

/* What follows runs where `p` holds, up to cj_else() or cj_end(). */
CJ_API void cj_if(cj_fn *f, cj_val p);
CJ_API void cj_else(cj_fn *f);

/* Closes the innermost block.  Errors: CJ_ESTATE when none is open. */
CJ_API void cj_end(cj_fn *f);

/* Repeats for ever: leave with cj_break and the like, or cj_return. */
CJ_API void cj_loop(cj_fn *f);

/* Repeats while the predicate register `p` holds, which is looked at before each turn: the body writes it with cj_assign(). */
CJ_API void cj_while(cj_fn *f, cj_val p);

/* for (i = from; i < to; i += step): the counter, a new register that the body may read.  Integer types; from's or to's type counts.  A negative number as `step`
 * counts down while i > to.  to + step must not wrap. */
CJ_API cj_val cj_for(cj_fn *f, cj_val from, cj_val to, cj_val step);

/* Out of the innermost loop; on with its next turn.  Errors: CJ_ESTATE outside of a loop. */
CJ_API void cj_break(cj_fn *f);
CJ_API void cj_break_if(cj_fn *f, cj_val p);
CJ_API void cj_break_unless(cj_fn *f, cj_val p);
CJ_API void cj_continue(cj_fn *f);
CJ_API void cj_continue_if(cj_fn *f, cj_val p);
CJ_API void cj_continue_unless(cj_fn *f, cj_val p);

/* Ends this thread's kernel or function; cj_return_value sets a function's only result first (and declares it where cj_result() was not called).  At the end of a body it may be
 * left out. */
CJ_API void cj_return(cj_fn *f);
CJ_API void cj_return_if(cj_fn *f, cj_val p);
CJ_API void cj_return_value(cj_fn *f, cj_val v);

/* Calls a .func of the same module, whose parameters and results are all declared by then; cj_call(f, callee, a, b) is the handy form.  Returns the result (the first of several;
 * the null value without one).  cj_call_into writes all results into registers.  Errors: CJ_EPTX (number or types), CJ_EINVAL (a kernel, another module's). */
CJ_API cj_val cj_call_n(cj_fn *f, cj_fn *callee, const cj_val *args, size_t n);
CJ_API void cj_call_into(cj_fn *f, cj_fn *callee, const cj_val *results, size_t nresults, const cj_val *args, size_t n);

#ifdef __cplusplus
}
#endif
#endif
