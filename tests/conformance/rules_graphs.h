/* What the programs of rules about graphs share. */
#ifndef CUJIT_TESTS_CONFORMANCE_RULES_GRAPHS_H
#define CUJIT_TESTS_CONFORMANCE_RULES_GRAPHS_H

#include "rules.h"

static inline CUgraph graph_new(void)
{
    CUgraph g = NULL;
    if (cu.cuGraphCreate(&g, 0)) tap_bail("no graph");
    return g;
}

static inline CUDA_KERNEL_NODE_PARAMS_v2 node_of(const char *name, CUdeviceptr *p, unsigned *n, void **params)
{
    params[0] = p;
    params[1] = n;
    return (CUDA_KERNEL_NODE_PARAMS_v2){ .func = rule_kernel(name),
                                         .gridDimX = 1,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = 1,
                                         .blockDimY = 1,
                                         .blockDimZ = 1,
                                         .kernelParams = params };
}

static inline CUgraphNode add_kernel(CUgraph g, const char *name, CUgraphNode after, CUdeviceptr p, unsigned n)
{
    void *params[2];
    CUgraphNode node = NULL;
    CUDA_KERNEL_NODE_PARAMS_v2 k = node_of(name, &p, &n, params);
    R_IS(cu.cuGraphAddKernelNode(&node, g, &after, after ? 1 : 0, &k), CUDA_SUCCESS);
    return node;
}

static inline CUgraphNode add_append(CUgraph g, CUgraphNode after, CUdeviceptr p, unsigned n)
{
    return add_kernel(g, "append", after, p, n);
}

static inline CUgraphExec executable(CUgraph g)
{
    CUgraphExec x = NULL;
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    return x;
}

/* What p, 0 before, is after a launch. */
static inline unsigned run_once(CUgraphExec x, CUdeviceptr p)
{
    CUstream s = abi_stream();
    R_IS(cu.cuMemsetD32Async(p, 0, 1, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    cu.cuStreamDestroy(s);
    return abi_read(p);
}

static inline CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(size_t bytes)
{
    return (CUDA_MEM_ALLOC_NODE_PARAMS){ .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                        .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
                                         .bytesize = bytes };
}

static inline void count_one(void *user) { ++*(int *)user; }

#endif
