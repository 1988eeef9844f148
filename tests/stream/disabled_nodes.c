/* Nodes left out of an exec: they do nothing, and what comes after them still waits for what came before them.  A
 * driver (580) loses that order where it switches off a small fill itself, so the library never lets it. */
#include <string.h>

#include "tests/device_bench.h"

enum { LARGE = 1 << 16, MANY = 150 };
static cj_kernel *hold;
static uint32_t *flag; /* pinned: hold spins until it is not 0 */
static int switched;   /* calls of cuGraphNodeSetEnabled */

static void note(void *user, uint64_t number, const char *name, const char *line, int result)
{
    (void)user, (void)number, (void)line, (void)result;
    if (!strcmp(name, "cuGraphNodeSetEnabled")) switched++;
}

static cj_ptx *hold_module(void)
{
    cj_ptx *m = bench_add_module();
    cj_fn *f = cj_ptx_kernel(m, "hold");
    cj_val p = cj_param_ptr(f, "flag", CJ_U32);
    cj_loop(f);
        cj_break_if(f, cj_ne(f, cj_def(f, "ld.volatile.global.u32", cj_mem(f, p, 0)), cj_imm(f, 0)));
    cj_end(f);
    return m;
}

static uint32_t now_at(size_t i)
{
    uint32_t v = 0xffffffff;
    cj_copy_to_host(s, &v, cj_offset(d, (int64_t)(4 * i)), 4);
    cj_stream_sync(s);
    return v;
}

static void clear(void) { cj_fill32(s, d, 0, LARGE), cj_stream_sync(s); }

/* hold, the node in question, and a fill of word 1 behind it where `more`. */
enum what { SMALL_FILL, LARGE_FILL, KERNEL, COPY };
static const char *const what_name[] = { "a small fill", "a large fill", "a kernel", "a copy" };

static cj_node *put(cj_graph *g, cj_node *after, enum what what)
{
    switch (what) {
    case SMALL_FILL: return cj_graph_fill32(g, CJ_NODES(after), d, 7, 1);
    case LARGE_FILL: return cj_graph_fill32(g, CJ_NODES(after), d, 7, LARGE);
    case KERNEL: return cj_graph_kernel(g, CJ_NODES(after), add, cj_grid(1, 32), d, 1, 7);
    default: return cj_graph_copy(g, CJ_NODES(after), d, cj_offset(d, 4 * 128), 4);
    }
}

static void keeps_order(enum what what, bool more)
{
    clear();
    cj_fill32(s, cj_offset(d, 4 * 128), 7, 1);
    cj_graph *g = cj_graph_create(dev);
    cj_node *first = cj_graph_kernel(g, NULL, hold, cj_grid(1, 1), (cj_dptr){ (uintptr_t)flag }),
            *node = put(g, first, what);
    cj_node *last = more ? cj_graph_fill32(g, CJ_NODES(node), cj_offset(d, 4 * 256), 9, 1) : node;
    (void)last;
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_event *e = cj_event_create(dev, NULL);
    cj_stream_sync(s);
    tap_is_int(cj_graph_exec_enable(x, node, 0), CJ_OK, "%s%s is left out: %s", what_name[what],
               more ? " in the middle" : "", cj_error_of(x)->message);
    tap_is_int(cj_graph_exec_enable(x, node, 0), CJ_OK, "... twice");
    *flag = 0;
    cj_graph_launch(s, x);
    cj_event_record(e, s);
    int reached = 0;
    for (int i = 0; i < 500; i++) reached += cj_event_query(e) != CJ_ENOTREADY;
    tap_is_int(reached, 0, "... and what follows waits for the kernel before it");
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    tap_ok(now_at(0) == 0 && now_at(256) == (more ? 9 : 0), "... it does nothing, the others do");
    cj_graph_exec_enable(x, node, 1);
    tap_is_int(cj_graph_exec_enable(x, node, 1), CJ_OK, "... it is done again");
    cj_graph_launch(s, x);
    tap_is_uint(now_at(0), 7, "... as before");
    cj_event_free(e);
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

static void updated(void)
{
    clear();
    cj_graph *g = cj_graph_create(dev), *h = cj_graph_create(dev);
    cj_node *fill = cj_graph_fill32(g, NULL, d, 1, 1);
    cj_graph_fill32(h, NULL, d, 2, 1);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_exec_enable(x, fill, 0);
    tap_is_int(cj_graph_exec_update(x, h), CJ_ESTATE, "an exec with a fill left out is not updated");
    tap_has_str(cj_error_of(x)->message, "cj_graph_exec_enable", "... and the fix is named");
    cj_graph_launch(s, x);
    tap_is_uint(now_at(0), 0, "... it is what it was");
    cj_graph_exec_enable(x, fill, 1);
    tap_is_int(cj_graph_exec_update(x, h), CJ_OK, "... done again, it is");
    cj_graph_launch(s, x);
    tap_is_uint(now_at(0), 2, "... to the other graph");
    tap_is_int(cj_graph_exec_enable(x, fill, 0), CJ_ENOTSUP, "then its fills cannot be left out");
    tap_has_str(cj_error_of(x)->message, "instantiate that graph", "... and the fix is named");
    tap_is_int(cj_graph_exec_enable(x, fill, 1), CJ_OK, "... and are done");
    clear();
    cj_graph_launch(s, x);
    tap_is_uint(now_at(0), 2, "... as before");
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_graph_free(h);
}

static void many(void)
{
    clear();
    cj_graph *g = cj_graph_create(dev);
    cj_node *fill[MANY];
    for (int i = 0; i < MANY; i++) fill[i] = cj_graph_fill32(g, NULL, cj_offset(d, 4 * i), (uint32_t)i + 1, 1);
    for (int round = 0; round < 2; round++) {
        cj_graph_exec *x = cj_graph_instantiate(g, NULL);
        for (int i = 0; i < MANY; i += 2) cj_graph_exec_enable(x, fill[i], 0);
        cj_graph_launch(s, x);
        static uint32_t got[MANY];
        cj_copy_to_host(s, got, d, sizeof got);
        cj_stream_sync(s);
        int wrong = 0;
        for (int i = 0; i < MANY; i++) wrong += got[i] != (i % 2 ? (uint32_t)i + 1 : 0);
        tap_is_int(wrong, 0, "of %d fills every second is left out, in exec %d", MANY, round + 1);
        cj_graph_exec_free(x);
        clear();
    }
    cj_graph_free(g);
}

int main(void)
{
    bench_open_over(CJ_INTERPOSER(.after = note), 4 * LARGE);
    cj_ptx *m = hold_module();
    hold = cj_kernel_load(dev, m, "hold", NULL);
    flag = cj_host_alloc(dev, 4, NULL);
    for (int more = 0; more < 2; more++) {
        switched = 0;
        keeps_order(SMALL_FILL, more);
        keeps_order(LARGE_FILL, more);
        tap_is_int(switched, 0, "the driver was not asked to switch a fill off");
        keeps_order(KERNEL, more);
        keeps_order(COPY, more);
    }
    updated();
    many();
    cj_kernel_free(hold);
    cj_ptx_free(m);
    cj_stream_sync(s);
    cj_host_free(dev, flag);
    return bench_close();
}
