/* Cooperative groups: tiles, coalesced threads, reductions. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void tiles(const int *in, int *out)
{
    cg::thread_block b = cg::this_thread_block();
    auto t = cg::tiled_partition<8>(b);
    int v = in[b.thread_rank()];
    int s = cg::reduce(t, v, cg::plus<int>());
    if (v > 3) { auto a = cg::coalesced_threads(); s += a.shfl(v, 0) + a.size(); }
    b.sync();
    out[b.thread_rank()] = s + t.ballot(v & 1);
}
