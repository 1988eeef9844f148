/* cujit/extend.h - objects of libraries over cujit, as libcujit-kernels is.
 *
 *     static const cj_object_type sort_type = {
 *         sizeof sort_type, "my_sort", sizeof(sort), sort_end
 *     };
 *
 *     my_sort *my_sort_create(cj_device *dev)
 *     {
 *         void *x = cj_object_create(&sort_type, "my_sort_create");
 *         sort *own = cj_object_data(x, &sort_type, NULL, "my_sort_create");
 *         if (own && !(own->k = load(dev))) cj_object_fail(x, CJ_EINVAL, "my_sort_create", "...");
 *         return x;
 *     }
 *
 * Such an object behaves as those of cujit: cj_error_of reads its failure, other calls recognise it
 * as a handle of another type, and in the child of fork() it fails with CJ_EFORKED.
 *
 * Texts.  `call` is the name of the public function that the caller of the library called.  It and
 * the type are static: they are used as long as an object or a failure is kept.
 *
 * Threads.  Any thread.
 */
#ifndef CUJIT_EXTEND_H
#define CUJIT_EXTEND_H

#include <cujit/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the objects of a type have. */
typedef struct cj_object_type {
    size_t size;             /* sizeof(cj_object_type) */
    const char *name;        /* the type's public name, "cj_softmax" */
    size_t bytes;            /* of the data of an object */
    void (*end)(void *data); /* releases what the data refer to; called once, before they are freed */
} cj_object_type;

/* Creates an object with `type->bytes` bytes of zeroed data, aligned for any C type.
 * Never NULL.  Owned by the caller, free with cj_object_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `type` is NULL, or its size or name is not set
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API void *cj_object_create(const cj_object_type *type, const char *call);

/* Returns the data of an object of `type` that can be used, else NULL: the entry check of a call.
 * Belongs to `object`.
 * Errors, left in `into`, the object that keeps the call's failures; NULL: in the thread only:
 *   CJ_EHANDLE: `object` is NULL or of another type
 *   CJ_EFORKED: the object was made before fork()
 *   the failure of `object`, if it is a failed object */
CJ_API void *cj_object_data(const void *object, const cj_object_type *type, void *into, const char *call);

/* Records a failure of `call` in an object of any type, and in the thread.  `message`: a sentence,
 * or the end of one that begins with the call's name.  Copied.  If the object is a stream that is
 * capturing, the graph is incomplete from then on.  `object`: May be NULL; the failure is then the
 * thread's.  Returns `status`. */
CJ_API cj_status cj_object_fail(void *object, cj_status status, const char *call, const char *message);

/* Records the failure that the object `from` keeps in `object` as well, with its cause.  Returns
 * its status; CJ_OK if it keeps none. */
CJ_API cj_status cj_object_fail_from(void *object, const void *from, const char *call);

/* Makes a new object of cj_object_create a failed object: a constructor calls it behind
 * cj_object_fail. */
CJ_API void cj_object_set_failed(void *object);

/* Frees the object: calls the type's `end` and releases the data.  In the child of fork() it does
 * nothing.  May be NULL. */
CJ_API void cj_object_free(void *object, const cj_object_type *type, const char *call);

#ifdef __cplusplus
}
#endif
#endif
