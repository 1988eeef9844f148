/* Words that streams wait for and write reach the driver as they were meant; a callback runs once, behind the work,
 * also after an error. */
#include <stdlib.h>
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static const struct value_case {
    const char *name;
    int64_t offset;
    uint64_t value;
    int how;
    bool wide;
    cj_status want;
    const char *says;
} waits[] = {
    { "32 bits, not less", 0, 7, CJ_COMPARE_GE, false, CJ_OK, NULL },
    { "32 bits, equal", 4, 0xffffffff, CJ_COMPARE_EQ, false, CJ_OK, NULL },
    { "64 bits, and", 8, UINT64_C(1) << 40, CJ_COMPARE_AND, true, CJ_OK, NULL },
    { "64 bits, nor", 0, 1, CJ_COMPARE_NOR, true, CJ_OK, NULL },
    { "32 bits, not aligned", 2, 1, CJ_COMPARE_EQ, false, CJ_EINVAL, "not aligned to 4 bytes" },
    { "64 bits, not aligned", 4, 1, CJ_COMPARE_EQ, true, CJ_EINVAL, "not aligned to 8 bytes" },
    { "no comparison", 0, 1, 4, false, CJ_EINVAL, "none of CJ_COMPARE_GE" },
    { "no comparison below", 0, 1, -1, true, CJ_EINVAL, "none of CJ_COMPARE_GE" },
};

static void check_waits(watch_bench *b)
{
    static const uint32_t reached[] = { 7, 0xffffffff, 0, 0x100 };  /* each wait ends */
    cj_dptr d = cj_alloc(b->s, sizeof reached);
    cj_copy_to_device(b->s, d, reached, sizeof reached);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const struct value_case *c = &waits[i];
        int id = c->wide ? CJI_CU_ID_cuStreamWaitValue64 : CJI_CU_ID_cuStreamWaitValue32;
        cj_dptr at = cj_offset(d, c->offset);
        watch_forget();
        cj_status st = c->wide ? cj_stream_wait_value64(b->s, at, c->value, (cj_compare)c->how)
                               : cj_stream_wait_value32(b->s, at, (uint32_t)c->value, (cj_compare)c->how);
        tap_is_int(st, c->want, "a wait, %s", c->name);
        tap_is_int(watch_calls(id), c->want == CJ_OK, "... reaches the driver or not");
        int k = watch_find(id, 0);
        if (k >= 0)
            tap_ok(watch.log[k].arg[0] == (uintptr_t)cj_stream_raw(b->s) && watch.log[k].arg[1] == at.addr &&
                       watch.log[k].arg[2] == c->value && watch.log[k].arg[3] == (uint64_t)c->how,
                   "... with stream, address, value and comparison");
        else
            tap_has_str(cj_error_of(b->s)->message, c->says, "... and says why");
        cj_stream_sync(b->s);
        cj_stream_sync(b->s);
    }
    watch_fail(CJI_CU_ID_cuStreamWaitValue64, 0, CUDA_ERROR_NOT_SUPPORTED);
    tap_is_int(cj_stream_wait_value64(b->s, d, 1, CJ_COMPARE_EQ), CJ_ENOTSUP, "what the device lacks is CJ_ENOTSUP");
    cj_stream_sync(b->s);
    tap_is_int(cj_stream_wait_value32(b->s, (cj_dptr){ 0 }, 1, CJ_COMPARE_EQ), CJ_EINVAL, "no memory is rejected");
    cj_stream_sync(b->s);
    cj_free(b->dev, d);
}

static void check_writes(watch_bench *b)
{
    cj_dptr d = cj_alloc(b->s, 16);
    uint32_t word[4];
    cj_fill32(b->s, d, 1, 4);
    watch_settle();
    watch_hold(cj_stream_raw(b->s));
    tap_is_int(cj_stream_write_value32(b->s, d, 77), CJ_OK, "a word of 32 bits is written");
    tap_is_int(cj_stream_write_value64(b->s, cj_offset(d, 8), UINT64_C(0x1234567890)), CJ_OK, "and one of 64");
    watch_read(d, word, sizeof word);
    tap_is_uint(word[0], 1, "when the stream reaches it");
    watch_release(cj_stream_raw(b->s));
    watch_read(d, word, sizeof word);
    tap_is_uint(word[0], 77, "then it is there");
    tap_ok(word[2] == 0x34567890 && word[3] == 0x12, "so is the other");
    tap_is_int(cj_stream_write_value64(b->s, cj_offset(d, 4), 1), CJ_EINVAL, "one that is not aligned is not written");
    cj_stream_sync(b->s);
    cj_free(b->dev, d);
}

/* Several at once: all are written or none, and what an op or a node names is kept. */
static void check_many(watch_bench *b)
{
    cj_dptr d = cj_alloc(b->s, 16);
    uint32_t word[4];
    cj_fill32(b->s, d, 0, 4);
    cj_mem_op ops[3] = { { .kind = CJ_MEM_OP_WRITE32, .d = d, .value = 7 },
                         { .kind = CJ_MEM_OP_WAIT64, .how = CJ_COMPARE_NOR, .d = cj_offset(d, 8), .value = 9 },
                         { .kind = CJ_MEM_OP_WRITE64, .d = cj_offset(d, 8), .value = UINT64_C(0x1234567890) } };
    watch_forget();
    tap_is_int(cj_stream_mem_ops(b->s, ops, 3), CJ_OK, "three ops");
    tap_is_int(watch_calls(CJI_CU_ID_cuStreamBatchMemOp), 1, "are one call of the driver");
    int k = watch_find(CJI_CU_ID_cuStreamBatchMemOp, 0);
    tap_ok(k >= 0 && watch.log[k].arg[0] == (uintptr_t)cj_stream_raw(b->s) && watch.log[k].arg[1] == 3 &&
               !watch.log[k].arg[3],
           "with stream, number and no flags");
    watch_settle();
    watch_read(d, word, sizeof word);
    tap_ok(word[0] == 7 && word[2] == 0x34567890 && word[3] == 0x12, "which writes what was said");
    ops[2].d = cj_offset(d, 12);
    tap_is_int(cj_stream_mem_ops(b->s, ops, 3), CJ_EINVAL, "one that is not aligned is rejected");
    tap_has_str(cj_error_of(b->s)->message, "op 2: ", "... by its place");
    cj_stream_sync(b->s);
    ops[2].d = cj_offset(d, 8);
    watch_fail(CJI_CU_ID_cuStreamBatchMemOp, 0, CUDA_ERROR_NOT_SUPPORTED);
    tap_is_int(cj_stream_mem_ops(b->s, ops, 3), CJ_ENOTSUP, "what the device lacks is CJ_ENOTSUP");
    cj_stream_sync(b->s);

    cj_graph *g = cj_graph_create(b->dev);
    cj_node *n = cj_graph_mem_ops(g, NULL, ops, 3);
    tap_ok(cj_node_kind_of(n) == CJ_NODE_MEM_OPS && watch_calls(CJI_CU_ID_cuGraphAddBatchMemOpNode) == 1,
           "a node with them: %s", cj_error_of(n)->message);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_fill32(b->s, d, 0, 4);
    cj_free(b->dev, d);
    tap_is_int(cj_graph_launch(b->s, x), CJ_OK, "its memory was freed: it is launched all the same");
    watch_settle();
    watch_read(d, word, sizeof word);
    tap_ok(watch.allocated == 1 && word[0] == 7 && word[2] == 0x34567890, "and writes what the graph has kept");
    cj_graph_free(g);
    tap_is_int(watch.allocated, 1, "the exec keeps it too");
    cj_graph_exec_free(x);
    cj_stream_sync(b->s);
    cj_device_collect(b->dev);
    tap_is_int(watch.allocated, 0, "then it goes");
}

typedef struct told { int times; cj_status status; } told;
static void tell(void *user, cj_status status)
{
    told *t = user;
    t->times++;
    t->status = status;
}

static void check_callbacks(watch_bench *b)
{
    told now = { 0, CJ_ESTATE }, late = { 0, CJ_ESTATE }, dead = { 0, CJ_ESTATE }, none = { 0, CJ_ESTATE };
    tap_is_int(cj_stream_callback(b->s, tell, &now), CJ_OK, "a callback on an idle stream");
    watch_settle();
    tap_ok(now.times == 1 && now.status == CJ_OK, "runs once, with CJ_OK");
    tap_is_int(cj_stream_callback(b->s, NULL, NULL), CJ_EINVAL, "no function is rejected");
    cj_stream_sync(b->s);
    cj_capture_begin(b->t, CJ_CAPTURE_THREAD);
    watch_forget();
    tap_is_int(cj_stream_callback(b->t, tell, &none), CJ_ESTATE, "a captured stream takes none");
    tap_ok(!watch_calls(CJI_CU_ID_cuStreamAddCallback), "and the driver is not called");
    cj_graph *g = cj_capture_end(b->t);
    tap_is_int(cj_error_of(g)->status, CJ_ESTATE, "the graph reports it");
    cj_graph_free(g);
    cj_stream_sync(b->t);
    watch_fail(CJI_CU_ID_cuStreamAddCallback, 0, CUDA_ERROR_LAUNCH_FAILED);
    tap_is_int(cj_stream_callback(b->s, tell, &none), CJ_EDRIVER, "a call that the driver refuses fails");
    watch_fail(CJI_CU_ID_cuStreamAddCallback, 0, CUDA_ERROR_NOT_SUPPORTED);
    tap_is_int(cj_stream_callback(b->s, tell, &none), CJ_ENOTSUP, "one that it does not have too");
    cj_stream_sync(b->s);
    watch_hold(cj_stream_raw(b->s));
    tap_is_int(cj_stream_callback(b->s, tell, &late), CJ_OK, "a callback behind work");
    tap_is_int(late.times, 0, "waits for it");
    watch_release(cj_stream_raw(b->s));
    tap_ok(late.times == 1 && late.status == CJ_OK, "and runs then");
    watch_forget();
    watch_swallow(CJI_CU_ID_cuStreamAddCallback);
    cj_stream_callback(b->s, tell, &dead);
    watch_swallow(-1);
    const int k = watch_find(CJI_CU_ID_cuStreamAddCallback, 0);
    if (k < 0) tap_bail("no callback");
    CUstreamCallback callback = (CUstreamCallback)(uintptr_t)watch.log[k].arg[1];
    callback(cj_stream_raw(b->s), CUDA_ERROR_ILLEGAL_ADDRESS, (void *)(uintptr_t)watch.log[k].arg[2]);
    tap_ok(dead.times == 1 && dead.status == CJ_EDRIVER, "after an error of the device its status is %s",
           cj_status_name(dead.status));
    tap_is_int(none.times, 0, "what was rejected was never called");
}

int main(void)
{
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* what releases do to the driver is seen */
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    check_waits(&b);
    check_writes(&b);
    check_many(&b);
    check_callbacks(&b);
    watch_teardown(&b);
    return tap_done();
}
