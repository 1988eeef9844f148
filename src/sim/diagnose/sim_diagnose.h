/* What never ends, and what takes long. Prefixes: cji_sim_deadlocks, _watcher_. */
#ifndef CJI_SIM_DIAGNOSE_H
#define CJI_SIM_DIAGNOSE_H

#include "sim/kinds/sim_kinds.h"

extern const sim_room cji_sim_room_diagnose;

/* Under the lock: appends a line for each deadlock of memory waits that the log has not named, with its
 * members. */
void cji_sim_deadlocks(cji_text *t);
/* The memory wait that holds it up, or will. */
bool cji_sim_op_waits(const sim_op *op, sim_mem_wait *out, size_t *item);
void cji_sim_deadlocks_end(void);

/* The watcher: a thread, made with the first host function or long memory wait. */
bool cji_sim_watcher_runs(void);
void cji_sim_watcher_wake(void);                           /* under the lock: the process ends */
void cji_sim_watcher_join(void);                           /* without the lock */

/* Under the lock: a line for each operation that is not done, the first hundred. */
void cji_sim_list(cji_text *t);

#endif
