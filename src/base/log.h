/* Messages: to the hook, else to standard error where CUJIT_LOG asks for it, and always to a ring of the last 64
 * lines. */
#ifndef CJI_LOG_H
#define CJI_LOG_H

#include <cujit/base.h>

void cji_log(cj_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line that is made already: what the CPU device is given as its log, so that its lines are in the same ring and
 * reach the same hook. */
void cji_log_line(void *user, cj_log_level level, const char *line);
void cji_set_log_hook(cj_log_fn fn, void *user);   /* unchecked: for the CPU device's setup call */

#endif
