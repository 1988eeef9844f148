/* sm 90: bulk copies, cluster barriers, elected threads; by inline assembly. */
__global__ void bulk(const char *in, char *out)
{
    __shared__ alignas(128) char buffer[1024];
    __shared__ alignas(8) unsigned long long bar;
    unsigned to = (unsigned)__cvta_generic_to_shared(buffer), at = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(at) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(to), "l"(in), "r"(at) : "memory");
    }
    __syncthreads();
    asm volatile("{\n.reg .pred done;\nWAIT_%=:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@!done bra WAIT_%=;\n}" ::"r"(at) : "memory");
    if (threadIdx.x < 32) {
        asm volatile("{\n.reg .pred one;\nelect.sync _|one, 0xffffffff;\n@one cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;\n@one cp.async.bulk.commit_group;\n}" ::"l"(out), "r"(to) : "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;");
}
