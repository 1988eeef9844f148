/* Grids of kernels: how a launch runs, and the description of its fault. */
#include "sim/kinds/sim_kinds.h"

#include <stdio.h>
#include <string.h>

enum { SIM_WORKSPACE = 1024 };   /* a cooperative grid's counters */

static CUresult sim_fault_code(cji_exec_fault_kind kind)
{
    switch (kind) {
    case CJI_EXEC_FAULT_NONE:
    case CJI_EXEC_FAULT_CANCELLED: return CUDA_SUCCESS;
    case CJI_EXEC_FAULT_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case CJI_EXEC_FAULT_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case CJI_EXEC_FAULT_SPACE: return CUDA_ERROR_INVALID_ADDRESS_SPACE;
    case CJI_EXEC_FAULT_PC: return CUDA_ERROR_INVALID_PC;
    case CJI_EXEC_FAULT_OPERAND: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case CJI_EXEC_FAULT_ASSERT: return CUDA_ERROR_ASSERT;
    case CJI_EXEC_FAULT_NOMEM: return CUDA_ERROR_OUT_OF_MEMORY;
    case CJI_EXEC_FAULT_TRAP:
    case CJI_EXEC_FAULT_BARRIER:
    case CJI_EXEC_FAULT_SYNC:
    case CJI_EXEC_FAULT_STACK: break;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

static cujit_sim_fault_kind sim_fault_kind(cji_exec_fault_kind kind)
{
    switch (kind) {
    case CJI_EXEC_FAULT_NONE:
    case CJI_EXEC_FAULT_CANCELLED: break;
    case CJI_EXEC_FAULT_ADDRESS: return CUJIT_SIM_FAULT_ADDRESS;
    case CJI_EXEC_FAULT_MISALIGNED: return CUJIT_SIM_FAULT_MISALIGNED;
    case CJI_EXEC_FAULT_SPACE: return CUJIT_SIM_FAULT_SPACE;
    case CJI_EXEC_FAULT_PC: return CUJIT_SIM_FAULT_PC;
    case CJI_EXEC_FAULT_OPERAND:
    case CJI_EXEC_FAULT_TRAP: return CUJIT_SIM_FAULT_TRAP;
    case CJI_EXEC_FAULT_ASSERT: return CUJIT_SIM_FAULT_ASSERT;
    case CJI_EXEC_FAULT_BARRIER: return CUJIT_SIM_FAULT_BARRIER;
    case CJI_EXEC_FAULT_SYNC: return CUJIT_SIM_FAULT_SYNC;
    case CJI_EXEC_FAULT_STACK: return CUJIT_SIM_FAULT_STACK;
    case CJI_EXEC_FAULT_NOMEM: return CUJIT_SIM_FAULT_OUT_OF_MEMORY;
    }
    return CUJIT_SIM_FAULT_NONE;
}

static void sim_kernel_print(void *ctx, const char *text, size_t bytes)
{
    (void)ctx;
    fwrite(text, 1, bytes, stdout);   /* as a GPU's driver does with a kernel's printf */
}

/* Without the lock. */
cji_exec_grid *cji_sim_launch_open(sim_op *op)
{
    const sim_launch *w = (const sim_launch *)op->work;
    sim_ctx *c = op->ctx;
    cji_exec_launch l = { .program = w->func->module->program,
                          .kernel = w->func->kernel,
                          .dynamic_shared = w->shape.shared,
                          .params = w->params,
                          .memory = { cji_sim_memory_find, sim_kernel_print, c, cji_sim_memory_changes() },
                          .cooperative = w->shape.cooperative,
                          .coarse = sim.set.coarse,
                          .stack_bytes = (uint32_t)c->limit[CU_LIMIT_STACK_SIZE],
                          .sm_count = (uint32_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
                          .grid_id = op->seq,
                          .condition = sim_graphs->set_condition,
                          .cancel = &c->cancel };
    memcpy(l.grid, w->shape.grid, sizeof l.grid);
    memcpy(l.block, w->shape.block, sizeof l.block);
    memcpy(l.cluster, w->shape.cluster, sizeof l.cluster);
    CUresult r = CUDA_SUCCESS;
    if (w->shape.cooperative) {
        r = cji_sim_space_alloc(c->dev, c, SIM_WORKSPACE, NULL, true, &op->workspace);
        unsigned char *p = r ? NULL : cji_sim_space_at(c, op->workspace, SIM_WORKSPACE);
        if (p) memset(p, 0, SIM_WORKSPACE);
        l.workspace = op->workspace;
    }
    cji_exec_grid *g = r ? NULL : cji_exec_grid_open(&l);
    if (!g) {
        char sentence[160];
        snprintf(sentence, sizeof sentence, "no memory to run kernel %.80s", w->func->kernel->name);
        if (op->workspace) cji_sim_space_drop(op->workspace, SIM_DEVICE, NULL);
        op->workspace = 0;
        sim_lock();
        cji_sim_op_fails(op, CUDA_ERROR_OUT_OF_MEMORY, sentence);
        sim_unlock();
    }
    return g;
}

static cujit_sim_access sim_fault_access(uint8_t access)
{
    switch (access) {
    case CJI_EXEC_READ: return CUJIT_SIM_ACCESS_READ;
    case CJI_EXEC_WRITE: return CUJIT_SIM_ACCESS_WRITE;
    case CJI_EXEC_UPDATE: return CUJIT_SIM_ACCESS_ATOMIC;
    default: return CUJIT_SIM_ACCESS_NONE;
    }
}

static void sim_fault_describe(const cji_exec_fault *f, const sim_op *op, cujit_sim_fault_info *info)
{
    *info = (cujit_sim_fault_info){ .size = sizeof *info,
                                    .code = (int)sim_fault_code(f->kind),
                                    .kind = sim_fault_kind(f->kind),
                                    .module = ((const sim_launch *)op->work)->func->module,
                                    .stream = cji_sim_stream_handle(op->stream),
                                    .line = f->line,
                                    .source_line = f->source_line };
    snprintf(info->kernel, sizeof info->kernel, "%s", f->kernel);
    snprintf(info->function, sizeof info->function, "%s", f->function);
    snprintf(info->instruction, sizeof info->instruction, "%s", f->instruction);
    snprintf(info->source_file, sizeof info->source_file, "%s", f->source_file);
    snprintf(info->sentence, sizeof info->sentence, "%s", f->sentence);
    memcpy(info->block, f->block, sizeof info->block);
    memcpy(info->thread, f->thread, sizeof info->thread);
    if (!f->bytes) return;
    info->access = sim_fault_access(f->access);
    info->space = f->space;
    info->bytes = f->bytes;
    info->address = f->address;
    info->allocation = f->allocation;
    info->allocation_bytes = f->allocation_bytes;
    info->allocation_freed = f->allocation_freed;
}

/* Under the lock; no thread works on it any more. */
void cji_sim_launch_close(sim_op *op)
{
    const cji_exec_fault *fault = cji_exec_grid_fault(op->grid);
    if (sim_fault_code(fault->kind)) {
        cujit_sim_fault_info info;
        sim_fault_describe(fault, op, &info);
        cji_sim_ctx_poison(op->ctx, &info);
    }
    cji_exec_grid_close(op->grid);
    op->grid = NULL;
    if (op->workspace) cji_sim_space_drop(op->workspace, SIM_DEVICE, NULL);
    op->workspace = 0;
}
