/* How a program is put together: what program.c and its parts share. cji_program_ is their prefix. */
#ifndef CJI_EXEC_PROGRAM_H
#define CJI_EXEC_PROGRAM_H

#include "ptx/layout.h"
#include "sim/exec/decode.h"

/* ---- program_names.c ---- */
const char *cji_program_name(cji_exec_program *p, const cj_ptx *m, uint32_t name);   /* NULL without memory */
bool cji_program_index(cji_map *map, const char *name, size_t index);  /* false without memory */
size_t cji_program_find(const cji_map *map, const char *name);         /* SIZE_MAX: no such name */
/* Is the body of function `i` in this module the one that the program runs? */
bool cji_program_is_ours(const cji_exec_program *p, const cji_dec_module *mod, uint32_t module, uint32_t i);
/* A line of the log for each name that a module names and none defines, in nvlink's words. */
void cji_program_tell_lacks(const cji_exec_program *p, const cji_dec_module *mods, size_t n, cji_text *log);

/* ---- program_image.c: .const variables come first in the image, then .global ones ---- */
bool cji_program_image(cji_exec_program *p, cji_dec_module *mods, size_t n, cji_text *log);
/* initial values, and the addresses inside them */
bool cji_program_values(cji_exec_program *p, const cji_dec_module *mods, size_t n, cji_text *log);

/* ---- program_share.c ---- */
/* Fills p->call[], mod->user[] of all modules, and cji_func.reaches: whether a function, or one that it may call, names
 * a shared variable that several functions name. False without memory. */
bool cji_program_uses(cji_exec_program *p, cji_dec_module *mods, size_t n);
/* Does the variable lie in shared memory, at a place that the program chooses? */
bool cji_program_is_shared(const cji_var *v);
/* Do several functions name it, or one that several kernels may call? */
bool cji_program_is_common(const cji_dec_module *mod, uint32_t var);

/* ---- program_frame.c: frames, shared memory, kernels ---- */
bool cji_program_frames(cji_exec_program *p, cji_dec_module *mods, size_t n, cji_text *log);

/* ---- program_registers.c ---- */
/* Estimates each kernel's registers, when its functions are decoded. False without memory. */
bool cji_program_registers(cji_exec_program *p, const cji_dec_module *mods, const cji_exec_text *texts);

#endif
