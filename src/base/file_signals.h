/* Writing to files without the signals that end a program: SIGXFSZ, beyond the limit of the process for a file's size,
 * and SIGPIPE, where nobody reads a pipe any more.  Between these two calls a write of this thread fails with EFBIG or
 * EPIPE instead, and so does ftruncate.  What a program does about these signals itself stays as it is. */
#ifndef CJI_FILE_SIGNALS_H
#define CJI_FILE_SIGNALS_H

#include <signal.h>

typedef struct cji_file_signals { sigset_t before, pending; } cji_file_signals;

void cji_file_signals_hold(cji_file_signals *held);
/* Leaves errno. */
void cji_file_signals_release(const cji_file_signals *held);

#endif
