/* The room of drivers over drivers.  Prefix cji_layer, cji_trace, cji_fault, cji_rec, cji_replay.
 *
 *   interposer.c       slots, a wrapper for each entry point and slot, the chain of layers, cj_driver_open_interposed
 *   interposer_text.c  a call as one line of text; struct_text.c: the structs; launch_text.c: kernels' arguments;
 *                      call_names.c: enumerations and flags by name
 *   trace_layer.c      writes each call to a file; trace_file.c: the files; process_file.c: one for each process;
 *                      trace_owner.c: which process that is
 *   record_layer.c     writes each call with its data (record_file.h, record_format.h); record_build.c, record_args.c,
 *                      record_structs.c: arguments; record_images.c: PTX and cubins; record_copies.c,
 *                      record_pending.c: what copies read and wrote; record_graphs.c: what graphs copy;
 *                      record_file.c: the file
 *   replay.c           repeats a recording (replay_parts.h); replay_file.c: reads it; replay_args.c: its arguments;
 *                      replay_maps.c: handles and addresses of then and now; replay_check.c: compares; replay_text.c
 *   fault_layer.c      makes calls fail that a text names
 *   interpose_env.c    the layers that the environment asks for
 *
 * An interposer is a chain of layers over the driver below.  A layer sees a call, passes it on with cji_layer_pass() or
 * answers it, and sees the result.  No layer holds a lock while it passes a call on. */
#ifndef CJI_DRIVER_INTERPOSE_H
#define CJI_DRIVER_INTERPOSE_H

#include <cujit/interpose.h>

#include "driver/driver.h"

/* A driver call under way. */
typedef struct cji_layer_call {
    const cji_cu_row *row;
    int id;                /* of the row */
    uint64_t number;       /* of the call, from 1 */
    const uint64_t *value; /* the arguments, widened to 64 bits */
    CUresult (*invoke)(const cji_cu *cu, const uint64_t *value); /* calls that entry point of a table */
    const cj_driver *under;                                      /* the driver below */
} cji_layer_call;

/* The first field of a layer's own struct. */
typedef struct cji_layer {
    CUresult (*call)(struct cji_layer *self, const cji_layer_call *c);
    void (*free)(struct cji_layer *self);
    struct cji_layer *next; /* nearer to the driver below; NULL: the driver is next */
    bool records;           /* all that matters to it are driver calls: no images that are stored, no other resets */
} cji_layer;

/* Passes a call on to what is below the layer. */
static inline CUresult cji_layer_pass(const cji_layer *self, const cji_layer_call *c)
{
    return self->next ? self->next->call(self->next, c) : c->invoke(&c->under->cu, c->value);
}

/* Frees a chain of layers. */
void cji_layers_free(cji_layer *first);

/* Opens an interposer with these layers over `under`, on behalf of `call`; takes the layers over in any case.  One of
 * the environment has a slot apart from those of users.  Never NULL. */
cj_driver *cji_driver_over(cj_driver *under, cji_layer *first, bool of_environment, const char *call);

/* Whether one more interposer of the environment has a slot.  The caller holds the list's lock. */
bool cji_interposer_room(void);

/* A new layer that writes each call to the file `path`; NULL, and the failure is recorded in `into` for `call`.
 * `held`: as in cji_process_file_hold(), or NULL; where there is one, what this process wrote to the file before is
 * kept. */
cji_layer *cji_trace_layer(void *into, const char *path, int *held, const char *call);

/* A new layer that writes each call with its data to the file `path`, for an interposer over `under`; NULL, and the
 * failure is recorded in `into` for `call`.  `turn`, `held`: as in cji_rec_file_open(). */
cji_layer *cji_record_layer(void *into, const cj_driver *under, const char *path, unsigned turn, int *held,
                            const char *call);

/* A new layer that makes the calls fail that `text` names; NULL, and the failure is recorded in `into` for `call`.
 * `what` is how the text is called in messages. */
cji_layer *cji_fault_layer(void *into, const char *text, const char *what, const char *call);

/* The driver with the layers that the environment asks for over it; `drv` itself where it asks for none.  Takes the
 * reference to `drv` over.  The caller holds the list's lock. */
cj_driver *cji_interpose_env(cj_driver *drv);

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

enum { CJI_INTERPOSER_TEXT = 1536 }; /* room for the longest call */

/* "cuMemAlloc(dptr=0x7ffc04a8 -> 0x302000000, bytesize=64) = CUDA_SUCCESS": entry point `id`, its arguments widened
 * to 64 bits, its answer. */
void cji_interposer_text(char *out, size_t size, int id, const uint64_t *value, CUresult r);

/* The fields of a struct that an argument of that type points to, in braces behind a blank; nothing for other types. */
void cji_struct_text(cji_line *l, const char *type, uint64_t pointer);

/* A value of the enumeration of that name by its name, or flags by theirs; false: nothing, as there is none. */
bool cji_put_named(cji_line *l, const char *type, size_t n, uint64_t v);

/* The type of a call's flags that are declared as a number; NULL: the parameter is none, or has no names. */
const char *cji_call_flags(const char *call, const char *param);

/* The kernel of a launch with the values of its parameters, "scale(0x302000000, 1024)"; "" for another call, and where
 * the driver below does not tell the parameters. */
void cji_launch_text(char *out, size_t size, const cji_layer_call *c);

/* Calls an entry point of a table by its number. */
CUresult cji_cu_invoke(const cji_cu *cu, int id, const uint64_t *value);

/* ---- Files of a process (process_file.c) ------------------------------------------------------------------------- */

/* Opens a file that no other process writes to, and locks it; -1: errno says why.  `turn` above 1 is appended to the
 * name. */
int cji_process_file_open(const char *path, unsigned turn);
/* Whether the name is that of an open descriptor, as /dev/stdout is: *fd is its number then.  Opening the name again
 * would have a place of its own in the file behind it, and overwrite what the program prints there. */
bool cji_process_file_is_stream(const char *path, int *fd);
/* Keeps one more descriptor of an open file, so that other processes see it locked as long as this one lives; another
 * descriptor of that file, -1 where there is none; closes it.  *held is 0 where there is none. */
void cji_process_file_hold(int *held, int fd);
int cji_process_file_held(const int *held);
void cji_process_file_drop(int *held);

/* Whose trace it is, as its first line or element; `begun` is when the process has begun its trace. */
void cji_trace_owner(cji_line *l, bool json, uint64_t begun);
/* Whether the file is a trace that this process began, before it became this program; then *begun is when. */
bool cji_trace_owned(int fd, bool json, uint64_t *begun);

/* ---- Files of traces --------------------------------------------------------------------------------------------- */

typedef struct cji_trace_file cji_trace_file;

/* The file of that name; one for all layers of the process that write to it.  NULL: it cannot be written, and *error is
 * errno. */
cji_trace_file *cji_trace_file_open(const char *path, int *held, int *error);
void cji_trace_file_close(cji_trace_file *file);
bool cji_trace_file_json(const cji_trace_file *file);
uint64_t cji_trace_file_begun(const cji_trace_file *file); /* cji_now() when it was opened first */

/* Adds a line, or for JSON an element of the array.  Any thread. */
void cji_trace_file_add(cji_trace_file *file, const char *line, size_t n);

#endif
