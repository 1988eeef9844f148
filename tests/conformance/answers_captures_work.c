/* Work in streams that may be captured (see answers_captures.h): fills, copies, kernels, host functions, memory,
 * graphs, and what is wrong. */
#include "answers_captures.h"
#include "answers_work.h"

static an_tools *const tools = &an_cap.tools;
static an_captured *const streams = an_cap.streams;
static unsigned pageable[AN_WORDS];

void an_cap_attach(void)
{
    if (!cu.cuInit) abi_load();
}

void an_cap_work(void)
{
    unsigned i = an_cap_stream(), kind = an_below(15), n = 1 + an_below(1000), me = an_cap.pieces,
             from = streams[i].last;
    CUstream s = an_cap_handle(i);
    int st;
    if (an_cap.pieces >= AN_PIECES) return;
    an_cap.pieces++;
    pageable[me] = n;
    an_line("work %u in %u:", me, i);
    switch (kind) {
    case 0: an_more(" fill"); st = an_status((int)cu.cuMemsetD32Async(an_word(tools, me), n, 1, s)); break;
    case 1:
        an_more(" byte fill");
        st = an_status((int)cu.cuMemsetD8Async(an_word(tools, me), (unsigned char)n, 4, s));
        break;
    case 2:
        an_more(" short fill");
        st = an_status((int)cu.cuMemsetD16Async(an_word(tools, me), (unsigned short)n, 2, s));
        break;
    case 3: an_more(" fill 2D"); st = an_status((int)cu.cuMemsetD2D32Async(an_word(tools, me), 4, n, 1, 1, s)); break;
    case 4:
        an_more(" copy from %u", from);
        st = an_status((int)cu.cuMemcpyDtoDAsync(an_word(tools, me), an_word(tools, from), 4, s));
        break;
    case 5:
        an_more(" copy to host from %u", from);
        st = an_status((int)cu.cuMemcpyDtoHAsync(&tools->host[me], an_word(tools, from), 4, s));
        break;
    case 6:
        an_more(" copy from pinned");
        st = an_status((int)cu.cuMemcpyHtoDAsync(an_word(tools, me), &tools->host[AN_UNWRITTEN], 4, s));
        break;
    case 7:
        an_more(" copy from pageable");
        st = an_status((int)cu.cuMemcpyHtoDAsync(an_word(tools, me), &pageable[me], 4, s));
        break;
    case 8: an_more(" copy 2D from %u", from); st = an_status(an_copy_2d(tools, s, me, from)); break;
    case 9: an_more(" copy 3D from %u", from); st = an_status(an_copy_3d(tools, s, me, from)); break;
    case 10:
        an_more(" plain copy from %u", from);
        st = an_status((int)cu.cuMemcpyAsync(an_word(tools, me), an_word(tools, from), 4, s));
        break;
    case 11: an_more(" step from %u", from); st = an_launch_with(tools, s, me, from, n); break;
    default:
        an_more(" step from %u", from);
        st = an_status(
            (int)an_step(kind == 12 ? tools->leap : tools->step, s, an_word(tools, me), an_word(tools, from), n));
    }
    if (st) return;
    streams[i].motion = true;
    if (kind != 5) streams[i].last = me;
}

static void no_callback(CUstream s, CUresult st, void *user) { (void)s, (void)st, (void)user; }

void an_cap_host(void)
{
    unsigned i = an_cap_stream(), n = an_below(1000), wrong = an_below(100);
    CUstream s = an_cap_handle(i);
    if (wrong < 10) { AN(cuStreamAddCallback(s, no_callback, NULL, 0), "callback in %u", i); return; }
    if (wrong < 15) { AN(cuLaunchHostFunc(s, NULL, NULL), "no host function in %u", i); return; }
    if (!AN(cuLaunchHostFunc(s, an_noted, an_note(i, n)), "host function %u in %u", n, i)) streams[i].motion = true;
}

void an_cap_memory(void)
{
    unsigned i = an_cap_stream();
    CUstream s = an_cap_handle(i);
    CUdeviceptr p = 0;
    if (an_cap.given && an_chance(60)) {
        if (!AN(cuMemFreeAsync(an_cap.given, s), "free in %u", i)) an_cap.given = 0;
    } else if (!an_cap.given) {
        if (!AN(cuMemAllocAsync(&p, 64, s), "allocation in %u", i)) an_cap.given = p;
    }
    streams[i].motion = true;
}

void an_cap_graph_launch(void)
{
    unsigned i = an_cap_stream();
    if (!AN(cuGraphLaunch(an_cap.exec, an_cap_handle(i)), "graph in %u", i)) streams[i].motion = true;
}

void an_cap_wrong_work(void)
{
    unsigned i = an_cap_stream();
    CUstream s = an_cap_handle(i);
    const an_stranger *x = an_other_context();
    void *none[3] = { 0 };
    switch (an_below(7)) {
    case 0: an_line("another context's step in %u", i); an_status((int)an_step(x->f, s, x->p, x->p, 1)); break;
    case 1: AN(cuMemcpyDtoDAsync(0, an_word(tools, AN_UNWRITTEN), 4, s), "a copy to nothing in %u", i); break;
    case 2: AN(cuMemsetD32Async(an_word(tools, 0) + 1, 1, 1, s), "a fill at an odd address in %u", i); break;
    case 3: AN(cuMemsetD32Async(an_word(tools, AN_UNWRITTEN), 1, 0, s), "an empty fill in %u", i); break;
    case 4:
        AN(cuMemcpyDtoDAsync(an_word(tools, AN_UNWRITTEN), an_word(tools, 0), 0, s), "an empty copy in %u", i);
        break;
    case 5: AN(cuLaunchKernel(tools->nothing, 0, 1, 1, 1, 1, 1, 0, s, none, NULL), "an empty grid in %u", i); break;
    default: AN(cuLaunchKernel(tools->nothing, 1, 1, 1, 2048, 1, 1, 0, s, none, NULL), "too large a block in %u", i);
    }
    streams[i].motion = true;
}
