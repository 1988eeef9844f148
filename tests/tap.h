/* The test producer: a TAP program for each behaviour.
 *
 *     int main(void)
 *     {
 *         tap_plan(0);                                        // number of assertions, or 0: counted by tap_done
 *         for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
 *             tap_is_int(f(cases[i].in), cases[i].out, "%s", cases[i].name);
 *         return tap_done();
 *     }
 *
 * Each line is written whole and at once. A program that completes its plan exits with 0, whatever its assertions said,
 * so another exit status always means a crash, a leak found by Valgrind, or a sanitizer. tap_plan starts an alarm (20
 * s, 50 times that under Valgrind, 10 times on a GPU): a test that hangs ends. Assertions may be made from several
 * threads.
 */
#ifndef CUJIT_TESTS_TAP_H
#define CUJIT_TESTS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAP_FORMAT(fmt, args) __attribute__((format(printf, fmt, args)))

/* Begins: `count` assertions will follow, or 0 when tap_done shall count them. */
void tap_plan(unsigned count);
/* Another time limit than tap_plan's, in seconds (it is scaled under Valgrind too). */
void tap_timeout(unsigned seconds);

/* One assertion each; returns whether it held. The description is a sentence; it may not contain '#'. */
bool tap_ok(bool held, const char *fmt, ...) TAP_FORMAT(2, 3);
bool tap_is_int(int64_t got, int64_t want, const char *fmt, ...) TAP_FORMAT(3, 4);
bool tap_is_uint(uint64_t got, uint64_t want, const char *fmt, ...) TAP_FORMAT(3, 4);    /* shown in hexadecimal too */
bool tap_is_f64(double got, double want, const char *fmt, ...) TAP_FORMAT(3, 4);         /* same bits, or both NaN */
/* shows the first line that differs */
bool tap_is_str(const char *got, const char *want, const char *fmt, ...) TAP_FORMAT(3, 4);
bool tap_has_str(const char *text, const char *part, const char *fmt, ...) TAP_FORMAT(3, 4);
bool tap_is_mem(const void *got, const void *want, size_t bytes, const char *fmt, ...) TAP_FORMAT(4, 5);
bool tap_pass(const char *fmt, ...) TAP_FORMAT(1, 2);
bool tap_fail(const char *fmt, ...) TAP_FORMAT(1, 2);

/* `count` assertions that are not made here, with the reason. */
void tap_skip(unsigned count, const char *fmt, ...) TAP_FORMAT(2, 3);
/* Ends the program: nothing of it can run here. One skip in the summary. Only before the first assertion. */
_Noreturn void tap_skip_all(const char *fmt, ...) TAP_FORMAT(1, 2);
/* Ends the program: the rest makes no sense any more. A failure. */
_Noreturn void tap_bail(const char *fmt, ...) TAP_FORMAT(1, 2);
/* A remark for the log. */
void tap_diag(const char *fmt, ...) TAP_FORMAT(1, 2);
/* Ends the plan; main returns its value. */
int tap_done(void);

/* -- Tiers --------------------------------------------------------------------------------------------------------- */

/* The device that this run of the program is for: true for a real GPU ($CUJIT_DRIVER is "cuda"), else the CPU device.
 * */
bool tap_on_gpu(void);
/* First call of a device program (before tap_plan or right behind it). On the CPU device it does nothing. On a GPU run
 * it skips the program where there is no libcuda.so.1, or one that reports no device; a libcuda that fails otherwise is
 * a failure. `devices` is how many are needed. CUJIT_TEST_REQUIRE=gpu (gpu2 for `devices` == 2) makes each skip a
 * failure. */
void tap_need_device(unsigned devices);
/* The same for a program that is about the GPU whatever $CUJIT_DRIVER says. */
void tap_need_gpu(unsigned devices);
/* Path of ptxas ($CUJIT_PTXAS, $PATH, then /usr/local/cuda/bin), or NULL. tap_need_ptxas skips the program without it;
 * CUJIT_TEST_REQUIRE=ptxas makes that a failure. */
const char *tap_ptxas(void);
void tap_need_ptxas(void);
/* Whether Valgrind or a sanitizer slows this program: choose smaller sizes then. */
bool tap_under_valgrind(void);
bool tap_is_slow(void);
/* Whether a child of fork() may allocate whatever other threads did at that moment. Not under a sanitizer: its
 * allocator has locks that older versions do not take before a fork, so one that another thread had stays locked in
 * the child. */
bool tap_forks_beside_threads(void);
/* Whether each race is reported, also one that a GPU bears: two writes of the same value, a copy beside atomic
 * additions. */
bool tap_reports_races(void);

/* -- Places -------------------------------------------------------------------------------------------------------- */

/* `name` below the source or build tree: a static buffer of 4 that are used in turn. */
const char *tap_source(const char *name);
const char *tap_build(const char *name);
/* A file's whole contents with a 0 behind it, for free(); NULL if it cannot be read. */
char *tap_slurp(const char *path, size_t *bytes);

#endif
