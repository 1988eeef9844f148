/* cujit/linker.h - several inputs joined into one image.
 *
 *     cj_linker *l = cj_linker_create(dev, NULL);
 *     cj_linker_add(l, m);                        // a builder, which declares and calls `norm`
 *     cj_linker_add_file(l, "libmathdevice.a");   // made by nvcc -rdc=true -lib: it has `norm`
 *     cj_image *img = cj_linker_link(l);
 *     cj_module *mod = cj_module_load_image(dev, img);
 *
 * A module declares what another one defines with cj_ptx_extern_func and cj_ptx_extern.  cj_call
 * calls such a function, also one that nvcc compiled with scalar parameters.  C++ names are mangled:
 * declare functions of a library as extern "C".
 *
 * Names.  Kernels, .visible functions and .visible variables are one set of names over all inputs.
 * Of a .weak definition and another one the other is taken.  Members of a library are linked where
 * they define a name that the other inputs lack.
 *
 * Lifetime.  Inputs are copied.  A builder that was added is frozen and kept alive, for source lines
 * in the compiler's log.
 *
 * Threads.  One thread at a time.
 *
 * Errors.  A failed call of cj_linker_add* is kept: cj_linker_link fails with the first one.  One
 * check, of the image, is enough.
 */
#ifndef CUJIT_LINKER_H
#define CUJIT_LINKER_H

#include <cujit/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_linker cj_linker;

/* Makes a linker without inputs.  `opts`: how PTX is compiled.  May be NULL.  Copied.
 * Never NULL.  Owned by the caller, free with cj_linker_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_linker *cj_linker_create(cj_device *dev, const cj_compile_opts *opts);

/* Adds the module of `m`, the builder.  Freezes the builder: later emits fail with CJ_ESTATE.
 * Errors, left in `l`:
 *   the builder's first error
 *   CJ_ENOTSUP: the module needs a newer PTX version than the driver's, or another device
 *   CJ_EPTX: a parameter in memory has the name of a global or constant variable of the module, for
 *     which the driver's linker would take it
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_linker_add(cj_linker *l, cj_ptx *m);

/* Adds NUL-terminated PTX text.  `name`: what messages call it.  May be NULL.  Copied.
 * Errors, left in `l`:
 *   CJ_EINVAL: the text is NULL
 *   CJ_EPTX: as by cj_linker_add
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_linker_add_text(cj_linker *l, const char *ptx, const char *name);

/* Adds `bytes` bytes.  What they are is read from them: PTX text, a cubin, an image of the CPU
 * device, a fat binary, a host object with device code (nvcc -rdc=true -c), or a library of such
 * objects (nvcc -rdc=true -lib).  A cubin must be relocatable (nvcc -rdc=true -cubin, ptxas -c).
 * `data`: Copied.  `name`: what messages call it.  May be NULL.  Copied.
 * Errors, left in `l`:
 *   CJ_EINVAL: there are no bytes; or fewer than the data say that they have, since they were cut
 *   CJ_EPTX: a text, as by cj_linker_add
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_linker_add_data(cj_linker *l, const void *data, size_t bytes, const char *name);

/* Adds the bytes of an image that is relocatable: one made from stored bytes, or one of the CPU
 * device.  `img`: Copied.
 * Errors, left in `l`: those of cj_linker_add_data, and the error of a failed `img`. */
CJ_API cj_status cj_linker_add_image(cj_linker *l, const cj_image *img);

/* Reads a file and adds it.  Messages call it by its path.
 * Errors, left in `l`: those of cj_linker_add_data, and
 *   CJ_ENOTFOUND: the file cannot be read */
CJ_API cj_status cj_linker_add_file(cj_linker *l, const char *path);

/* Links all inputs so far to one image.  More inputs may be added afterwards, for another link.
 * Blocks.
 * Never NULL.  Owned by the caller, free with cj_image_free.
 * Errors, in the failed object that is returned:
 *   the first failure of cj_linker_add*
 *   CJ_ESTATE: there are no inputs
 *   CJ_ENOTFOUND: no input defines a function or variable that is used; the message lists the names
 *   CJ_EJIT: the driver's compiler or linker rejects an input; cj_image_log has its log
 *   CJ_ENOTSUP: the driver has no linker, and there is more to link than one PTX text
 *   CJ_ENOMEM: memory is exhausted
 * cuLinkCreate, cuLinkAddData, cuLinkComplete. */
CJ_API cj_image *cj_linker_link(cj_linker *l);

/* Frees the linker.  Images that it made stay.  Returns at once.  May be NULL. */
CJ_API void cj_linker_free(cj_linker *l);

#ifdef __cplusplus
}
#endif
#endif
