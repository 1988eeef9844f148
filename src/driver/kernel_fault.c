/* A kernel's fault in the user's terms: what the CPU device tells of it, with the line of PTX led back to the
 * builder's source.  A GPU's driver tells the
 * CUresult alone: then the kernels launched lately are named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/sim.h>

#include "driver/driver.h"
#include "driver/image.h"
#include "ptx/ptx.h"

_Static_assert((int)CJ_FAULT_WORK == (int)CUJIT_SIM_FAULT_WORK && (int)CJ_FAULT_SYNC == (int)CUJIT_SIM_FAULT_SYNC,
               "the CPU device's kinds are ours");
_Static_assert((int)CJ_FAULT_ATOMIC == (int)CUJIT_SIM_ACCESS_ATOMIC &&
                   (int)CJ_FAULT_WRITE == (int)CUJIT_SIM_ACCESS_WRITE,
               "and its accesses");

void cj_fault_defaults(cj_fault *fault)
{
    if (fault) *fault = (cj_fault){ .size = sizeof *fault };
}

/* The source of the faulting line, from the builder of the module that is loaded as `raw`, if it is there still.  The
 * list's lock keeps the module. */
static void find_source(cj_device *dev, CUmodule raw, cj_fault *out)
{
    const char *file = "";
    uint32_t line = 0;
    if (!raw || out->ptx_line <= 0) return;
    pthread_mutex_lock(&dev->modules_lock);
    const cj_module *mod = dev->modules;
    while (mod && (mod->state != CJI_MODULE_READY || mod->raw != raw)) mod = mod->next;
    if (mod && mod->source &&
        cji_ptx_line_of(mod->source, cji_print_flags(&mod->compile), (uint32_t)out->ptx_line, &file, &line)) {
        size_t n = strlen(file), cut = n >= sizeof out->file ? n - sizeof out->file + 1 : 0;
        memcpy(out->file, file + cut, n - cut + 1);
        out->line = (int32_t)line;
    }
    pthread_mutex_unlock(&dev->modules_lock);
}

/* A sentence of the device, "INSTRUCTION at [FILE:LINE, ]line N of FUNCTION[,] REST", taken apart. */
typedef struct fault_parts {
    int instruction;       /* length */
    const char *loc;       /* what .loc says, "FILE:LINE"; NULL: nothing */
    int loc_length;
    const char *function, *rest;
    int function_length;
} fault_parts;

static bool take_apart(const cujit_sim_fault_info *info, fault_parts *p)
{
    char mark[32];
    size_t n = strlen(info->instruction);
    if (!n || !info->line || strncmp(info->sentence, info->instruction, n) != 0 ||
        strncmp(info->sentence + n, " at ", 4) != 0)
        return false;
    snprintf(mark, sizeof mark, "line %u of ", info->line);
    const char *begin = info->sentence + n + 4, *at = strstr(begin, mark);
    if (!at) return false;
    *p = (fault_parts){ .instruction = (int)n, .function = at + strlen(mark) };
    if (at - begin > 2) p->loc = begin, p->loc_length = (int)(at - begin) - 2; /* without the ", " */
    p->function_length = (int)strcspn(p->function, ", ");
    p->rest = p->function + p->function_length;
    if (*p->rest == ',') p->rest++;
    return true;
}

/* The file and line of .loc, for a text that no builder here made. */
static void take_loc(const fault_parts *p, cj_fault *out)
{
    int colon = p->loc_length;
    while (colon > 0 && p->loc[colon] != ':') colon--;
    if (!colon) return;
    snprintf(out->file, sizeof out->file, "%.*s", colon, p->loc);
    out->line = (int32_t)strtol(p->loc + colon + 1, NULL, 10);
}

/* The sentence with the place as the user knows it: "at FILE:LINE (PTX line N) of kernel K". */
static void put_sentence(const cujit_sim_fault_info *info, cj_fault *f, char *out, size_t size)
{
    fault_parts p;
    cji_line l = { out, size, 0 };
    *out = 0;
    if (!take_apart(info, &p)) {
        if (*info->kernel && !strstr(info->sentence, info->kernel)) cji_say(&l, "kernel %s: ", cji_short(info->kernel));
        cji_say(&l, "%s", info->sentence);
        return;
    }
    if (!f->line && p.loc) take_loc(&p, f);
    cji_say(&l, "%.*s at ", p.instruction, info->sentence);
    if (f->line) cji_say(&l, "%s:%d (PTX line %u)", f->file, f->line, info->line);
    else cji_say(&l, "PTX line %u", info->line);
    if (strcmp(info->function, info->kernel) != 0) cji_say(&l, " of %.*s, called by", p.function_length, p.function);
    else cji_say(&l, " of");
    cji_say(&l, " kernel %s%s", cji_short(info->kernel), p.rest);
}

bool cji_fault_read(const cj_device *dev, cj_fault *out, char *sentence, size_t size)
{
    cujit_sim_fault_info info = { .size = sizeof info };
    if (!dev->drv->fault || dev->drv->fault(dev->ctx, &info) != 1) return false;
    cj_fault_defaults(out);
    out->code = info.code;
    out->kind = (int32_t)info.kind;
    out->ptx_line = (int32_t)info.line;
    out->access = (int32_t)info.access;
    out->space = info.space;
    out->bytes = info.bytes;
    out->address = info.address;
    out->allocation = info.allocation;
    out->allocation_bytes = info.allocation_bytes;
    out->allocation_freed = info.allocation_freed;
    memcpy(out->block, info.block, sizeof out->block);
    memcpy(out->thread, info.thread, sizeof out->thread);
    snprintf(out->kernel, sizeof out->kernel, "%s", info.kernel);
    snprintf(out->function, sizeof out->function, "%s", info.function);
    snprintf(out->instruction, sizeof out->instruction, "%s", info.instruction);
    find_source((cj_device *)(uintptr_t)dev, info.module, out);
    put_sentence(&info, out, sentence, size);
    return true;
}

/* -- Where the driver tells nothing: the kernels that a stream launched lately ------------------------------------- */

void cji_recent_forget(cji_release_queue *queue, const void *kernel, const char *name)
{
    pthread_mutex_lock(&queue->lock);
    for (cji_slot *slot = queue->slots; slot; slot = slot->next)
        for (int i = 0; i < CJI_RECENT; i++) {
            const void *there = kernel;
            if (!atomic_compare_exchange_strong(&slot->recent[i], &there, NULL)) continue;
            snprintf(slot->recent_name[i], sizeof slot->recent_name[i], "%s", cji_short(name));
        }
    pthread_mutex_unlock(&queue->lock);
}

/* With the queue's lock held: adds those of one stream. */
static unsigned say_recent(const cji_slot *slot, cji_line *l)
{
    unsigned launched = atomic_load(&slot->launched), shown = launched < CJI_RECENT ? launched : CJI_RECENT;
    for (unsigned i = 0; i < shown; i++) {
        unsigned at = (launched - 1 - i) % CJI_RECENT;
        const cj_kernel *k = atomic_load(&slot->recent[at]);
        cji_say(l, "%s%s", l->n ? ", " : "", k ? cji_short(k->name) : slot->recent_name[at]);
    }
    return launched - shown;
}

unsigned cji_recent_names(cji_release_queue *queue, const cji_slot *slot, char *out, size_t size)
{
    cji_line l = { out, size, 0 };
    *out = 0;
    pthread_mutex_lock(&queue->lock);
    unsigned before = say_recent(slot, &l);
    pthread_mutex_unlock(&queue->lock);
    return before;
}

unsigned cji_recent_names_all(cji_release_queue *queue, char *out, size_t size)
{
    cji_line l = { out, size, 0 };
    unsigned before = 0;
    *out = 0;
    pthread_mutex_lock(&queue->lock);
    for (const cji_slot *slot = queue->slots; slot; slot = slot->next) before += say_recent(slot, &l);
    pthread_mutex_unlock(&queue->lock);
    return before;
}
