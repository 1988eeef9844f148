/* What the files of libcujit-kernels share.
 *
 * The library sees libcujit as a user does: it includes public headers only and calls exported functions only.
 * Its memory is the data of its objects (cj_object_create), so it needs no allocator of its own.
 *
 * An object is a *code*: a module with up to CJK_KERNELS kernels, and the workspace that it has for launches in
 * flight.  A launch chooses kernels and dimensions from sizes alone, never from what ran before, so a captured launch
 * can be repeated, and executed by several graphs at once: kernels that run twice at once with the same arguments
 * write the same bytes to the same places.
 *
 * Prefix of names between files: cjk_. */
#ifndef CJK_KERNELS_CORE_H
#define CJK_KERNELS_CORE_H

#include <pthread.h>
#include <stdatomic.h>

#include <cujit/cujit.h>
#include <cujit/kernels.h>

enum { CJK_KERNELS = 48, CJK_THREADS = 256 };

struct cjk_cache;

/* A piece of workspace, which is an object of the library's own. */
typedef struct cjk_slot {
    pthread_mutex_t busy;        /* held while a launch that uses the piece is enqueued */
    cj_event *done;              /* behind the latest launch that uses it */
    _Atomic(uint64_t) stream;    /* the id of that launch's stream; 0: none */
    cj_dptr at;
    struct cjk_slot *next;
    void *object;
} cjk_slot;

/* The workspace of launches in flight: `count` pieces of `each` bytes.  A stream has the piece of its latest launch
 * again while no other stream took it. */
typedef struct cjk_slots {
    cj_stream *home;
    cj_dptr memory;
    size_t each;
    uint32_t count;
    cjk_slot *first;
    atomic_uint next;
} cjk_slots;

/* The first field of the data of every object. */
typedef struct cjk_code {
    cj_device *dev;
    cj_ptx *m;                 /* the kernels as text: cj_..._ptx prints it */
    cj_kernel *k[CJK_KERNELS];
    bool early;                /* kernels that wait for those before them, as cjk_start_early has them, begin early */
    struct cjk_cache *cache;   /* NULL: the caller's */
    cjk_slots slots;
} cjk_code;

/* A failure with a formatted sentence, left in `object`. */
cj_status cjk_fail(void *object, cj_status status, const char *call, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* -- Making and freeing (code.c) ----------------------------------------------------------------------------------- */

/* Copies the caller's options: `bytes` bytes of the library's options at `to`, which hold the defaults, are
 * overwritten by what the caller's structure has.  False: its size is not set; the failure is left in `object`. */
bool cjk_options(void *object, const char *call, void *to, size_t bytes, const void *opts);

/* Begins an object: notes the device, starts the module.  `module`: the user's, of which a copy is made; NULL: an
 * empty one.  False: the failure is left in `object`, which has failed. */
bool cjk_begin(void *object, cjk_code *c, cj_device *dev, cj_ptx *module, const char *call);

/* An empty module for kernels of the device, or a copy of `of`.  Where the device is older than sm_80 its target is
 * set, so that cjk_has knows.  NULL is never returned: the module may have failed. */
cj_ptx *cjk_module_for(cj_device *dev, cj_ptx *of);

/* Whether the function's kernels may use what needs `target`. */
bool cjk_has(cj_fn *f, const char *target);

/* The bits of `v`, a CJ_F32, as bf16 in a CJ_U32: for devices older than sm_80, which have no instruction for it. */
cj_val cjk_bf16_bits(cj_fn *f, cj_val v);

size_t cjk_lines(const char *text);

/* The user's function of that name, NULL for none, which the kernels have inlined unless it is long.  False: there is
 * none, and `object` has failed. */
bool cjk_function(void *object, const cjk_code *c, const char *name, cj_fn **f, const char *call);

/* Whether the kernels could call the user's function (NULL: none).  `wants`: what it takes and gives.  False: the
 * failure is left in `object`, which has failed. */
bool cjk_function_fits(void *object, const cjk_code *c, const char *function, const char *wants, const char *call);

/* Ends a constructor: compiles the kernels `names`, or finds them in `cache` (NULL: that of the device), and takes
 * the workspace: `count` pieces of `each` bytes.  A failure is left in `object`, which has failed then. */
void cjk_end(void *object, cjk_code *c, const char *const *names, size_t n, cj_kernel_cache *cache, uint32_t count,
             size_t each, const char *call);

/* The cache for the object's kernels: `cache`, or for NULL that of the device.  NULL: the failure is left in
 * `object`. */
cj_kernel_cache *cjk_cache_begin(void *object, cjk_code *c, cj_kernel_cache *cache, const char *call);

/* Kernels, each of a module of its own: the compiler takes them at once, on several threads. */
typedef struct cjk_module_part { cj_ptx *m; const char *name; cj_kernel *kernel; } cjk_module_part;

/* Loads them all.  The kernels are the caller's, failed ones too.  `write` writes part `i` into its module before, on
 * the thread that loads it; a part whose module has failed then is not loaded.  NULL: they are written. */
typedef void cjk_part_writer(const void *data, size_t i, cj_ptx *m);
void cjk_load_parts(cj_kernel_cache *cache, cjk_module_part *part, size_t n, cjk_part_writer *write, const void *data);

/* Marks the object of a constructor that has recorded a failure. */
void cjk_failed(void *object);

/* The `end` of an object's type. */
void cjk_release(void *code);

cj_status cjk_print(void *object, const cj_object_type *type, unsigned flags, const char **text, size_t *bytes,
                    const char *call);

/* -- Workspace (workspace.c) --------------------------------------------------------------------------------------- */

/* Bytes as a piece of workspace: a multiple of 256. */
static inline size_t cjk_whole(size_t bytes) { return (bytes + 255) / 256 * 256; }

/* Workspace of one launch, from cjk_space_begin to cjk_space_end. */
typedef struct cjk_space {
    cj_dptr at;             /* { 0 }: none is needed */
    cj_dptr captured;       /* the graph's, which the launch frees: the graph keeps it; { 0 }: not of a graph */
    cjk_slot *slot;         /* the object's piece that it is; NULL: none of them */
} cjk_space;

/* Takes the object's pieces: `count` of `each` bytes.  Or a failure is left in `object`. */
cj_status cjk_slots_take(void *object, cjk_code *c, uint32_t count, size_t each, const char *call);
void cjk_slots_release(cjk_code *c);

/* Finds `need` bytes for a launch on `s`: the caller's, else memory of the graph while `s` is capturing, else one of
 * the object's pieces, for which `s` waits if another stream had it last.  False: the failure is left in `s`. */
bool cjk_space_begin(cj_stream *s, cjk_code *c, size_t need, const cj_workspace *given, cjk_space *space,
                     const char *call);

/* Finds memory of the graph while `s` is capturing.  It is 0 now; launches of the graph find what those before have
 * left there.  False: the failure is left in `s`. */
bool cjk_zeros_begin(cj_stream *s, cjk_code *c, size_t need, cjk_space *space, const char *call);

/* Ends the launch: all its kernels are enqueued, or `st` says why not.  Returns `st`, or a failure left in `s`. */
cj_status cjk_space_end(cj_stream *s, const cjk_code *c, cjk_space *space, cj_status st);

/* -- Rows and launches (workspace.c) ------------------------------------------------------------------------------- */

/* The rows as kernels take them: stride and step of elements, with the defaults put in. */
typedef struct cjk_matrix { cj_dptr data; int64_t stride, step; } cjk_matrix;

/* Checks what `x` points at: `rows` rows of `columns` elements of `size` bytes.  `name`: of the argument.  False: the
 * failure is left in `s`. */
bool cjk_matrix_of(cj_stream *s, const cj_rows *x, uint64_t rows, uint64_t columns, size_t size, const char *name,
                   cjk_matrix *out, const char *call);

/* Whether `n` matrices that are `by` elements apart can be in memory. */
bool cjk_batches_fit(int64_t by, uint64_t n);

/* How far `n` steps of `by` lead, in either direction; UINT64_MAX where it is more. */
uint64_t cjk_distance(int64_t by, uint64_t n);

/* Whether two elements are in one place, of `na` that are `a` elements apart, each of them with `nb` that are `b`
 * apart. */
bool cjk_places_meet(int64_t a, uint64_t na, int64_t b, uint64_t nb);

/* The same as cjk_matrix_of for rows that are written: no two elements may be in one place. */
bool cjk_results_of(cj_stream *s, const cj_rows *x, uint64_t rows, uint64_t columns, size_t size, cjk_matrix *out,
                    const char *call);

/* Checks memory of elements of `size` bytes that lie side by side.  `name`: of the argument.  False: the failure is
 * left in `s`. */
bool cjk_elements_at(cj_stream *s, cj_dptr at, size_t size, const char *name, const char *call);

/* The same for an argument that is there if and only if the option `name` is 1. */
bool cjk_option_at(cj_stream *s, bool option, cj_dptr at, size_t size, const char *name, const char *call);

/* Enqueues kernel `i` of the object. */
cj_status cjk_launch(cj_stream *s, const cjk_code *c, unsigned i, const uint32_t grid[3], uint32_t threads,
                     const cj_arg *args, size_t count);

/* -- Kernels that begin early (code.c) ----------------------------------------------------------------------------- */

/* Whether kernels of the device may begin while the one before them on the stream still runs, captured ones too:
 * programmatic dependent launch. */
bool cjk_starts_early(cj_device *dev);

/* If the object's kernels begin early: lets the next kernel begin, and waits until those before have ended.  It comes
 * behind what needs no memory of the launch, and in front of the first access to it.  All threads execute it. */
void cjk_start_early(cj_fn *f, const cjk_code *c);

/* The dimensions of a launch of such a kernel. */
cj_dims cjk_early_dims(const cjk_code *c, cj_dims dims);

/* -- Values in kernels (values.c) ---------------------------------------------------------------------------------- */

/* Bytes of an element in memory; 0 for a type that kernels of this library do not take. */
size_t cjk_size(cj_type type);

const char *cjk_type_name(cj_type type);

/* Fails for the option `name`, a type that the object does not take.  `wants`: those that it takes.  0 is reported as
 * a type that is not set. */
cj_status cjk_fail_type(void *object, const char *call, const char *name, int32_t type, const char *wants);

/* What elements may be, in messages. */
#define CJK_ELEMENTS "an integer of 8 to 64 bits, f16, bf16, f32 or f64"
#define CJK_REALS "f32, f16 or bf16"

/* The type that elements of `type` are computed in, unless the user wants another: 32 bits at least. */
cj_type cjk_wide(cj_type type);

/* Loads an element of `type` as `as`, and stores `v` as one.  f16 and bf16 are converted by instructions of sm_80. */
cj_val cjk_load(cj_fn *f, cj_type type, cj_val address, cj_type as);
void cjk_store(cj_fn *f, cj_type type, cj_val address, cj_val v);

/* v, a register of a type that cjk_wide gives, as the type `as`. */
cj_val cjk_as(cj_fn *f, cj_type as, cj_val v);

/* A matrix in a kernel: its parameters NAME, NAME_stride and NAME_step. */
typedef struct cjk_operand { cj_val base, stride, step; cj_type type; } cjk_operand;
cjk_operand cjk_operand_of(cj_fn *f, const char *name, cj_type type);

/* The address of row `row`, and of element `column` of the row that begins at `begin`.  Both are CJ_U64. */
cj_val cjk_row(cj_fn *f, const cjk_operand *x, cj_val row);
cj_val cjk_column(cj_fn *f, const cjk_operand *x, cj_val begin, cj_val column);

/* Thread, block in x and in y, as CJ_U64. */
cj_val cjk_thread(cj_fn *f);
cj_val cjk_block(cj_fn *f, cj_dim dim);

/* -- Operations (values.c) ----------------------------------------------------------------------------------------- */

/* How two values are joined: one of the builder's, or a function of the module. */
typedef struct cjk_join {
    cj_combine_op op;
    cj_fn *fn;          /* NULL: `op` */
    cj_type type;       /* of the values */
    cj_type bounds;     /* MIN and MAX begin with the greatest and the least value of this type */
    uint64_t identity;  /* its bits, for a function */
} cjk_join;

/* The bounds of values of `in` that are joined in `wide` and stored as `out`: integers whose result is narrower than
 * `wide` have those of `in`, which the result holds. */
cj_type cjk_bounds(cj_type in, cj_type wide, cj_type out);

/* What a user chooses of an operation, and its check: the failure is left in `object`. */
typedef struct cjk_join_opts {
    cj_type type, out, wide;
    int32_t op;
    cj_ptx *module;
    const char *function;
} cjk_join_opts;
cj_status cjk_check_join(void *object, const cjk_join_opts *o, const char *call);

/* cjk_function_fits for a function that joins two values of `wide`. */
bool cjk_join_fits(void *object, const cjk_code *c, const char *function, cj_type wide, const char *call);

/* The identity as a literal of the type. */
cj_val cjk_identity(cj_fn *f, const cjk_join *j);
cj_val cjk_combine(cj_fn *f, const cjk_join *j, cj_val a, cj_val b);
void cjk_block_total(cj_fn *f, const cjk_join *j, cj_val v, cj_val *total);

#endif
