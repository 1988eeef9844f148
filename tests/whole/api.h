/* The public functions as the headers declare them, callable as a language runtime would call them: handles and numbers
 * as 64-bit integers, through dlsym. */
#ifndef CUJIT_TESTS_WHOLE_API_H
#define CUJIT_TESTS_WHOLE_API_H

#include <stdbool.h>
#include <stdint.h>

enum { API_PARAMS = 8, API_FUNCTIONS = 1600 };

/* The kinds of handle: indices of api_handle_name[] and api_live[]. Those up to API_FN touch no driver, nor does
 * API_DISK_CACHE. */
enum {
    API_PTX,
    API_FN,
    API_DRIVER,
    API_DEVICE,
    API_IMAGE,
    API_MODULE,
    API_KERNEL,
    API_STREAM,
    API_EVENT,
    API_GRAPH,
    API_EXEC,
    API_NODE,
    API_EXEC_CACHE,
    API_HUB,
    API_EVENT_POOL,
    API_STREAM_POOL,
    API_WAITER,
    API_COORD,
    API_PROFILE,
    API_PIPELINE,
    API_PREPARED,
    API_LINKER,
    API_KERNEL_CACHE,
    API_COMPILER,
    API_FUTURE,
    API_VMEM,
    API_ARRAY,
    API_TEXTURE,
    API_SURFACE,
    API_DISK_CACHE,
    API_TENSOR,
    API_MEM_POOL,
    API_HANDLES
};
extern const char *const api_handle_name[API_HANDLES];

typedef enum api_result { API_VOID, API_STATUS, API_VALUE, API_OBJECT, API_TEXT, API_OTHER } api_result;

typedef struct api_function {
    char name[64];
    api_result result;
    int result_handle;      /* API_OBJECT: which kind */
    int nparams, nhandles;
    int handle[API_PARAMS]; /* which kind, or -1 */
    uint64_t (*call)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
} api_function;

extern api_function api_functions[API_FUNCTIONS];
extern int api_count;
void api_read_headers(void); /* fills api_functions; a declaration that is not exported is a failure of the test */

bool api_lends(const api_function *f); /* its object stays another's */
bool api_frees(const api_function *f);
uint64_t api_call(const api_function *f, const uint64_t *args);
void api_release(int kind, void *object);

/* One good handle of each kind, on the device of $CUJIT_DRIVER. api_fresh_builder makes new ones of API_PTX and API_FN.
 * */
extern void *api_live[API_HANDLES];
void api_make_live(void);
void api_fresh_builder(void);
void api_release_live(void);

#endif
