/* Bulk copies, what surrounds them and clusters of one block, in the engine: each form, and the sentence of each
 * mistake. Tiles of tensors of every shape are in tests/driver/tile_copies. */
#include "exec_harness.h"

/* Parameters: a, the data at EX_BASE; m, a tensor map. 32 KB of the data: word i is i. */
#define BODY(code) \
    EX_HEAD ".visible .entry k(.param .u64 a, .param .align 64 .b8 m[128])\n{\n.reg .pred %p<9>;\n.reg .b16 %h<3>;\n" \
    ".reg .b32 %r<20>;\n.reg .b64 %d<9>;\n.shared .align 128 .b8 s[8192];\n.shared .align 8 .b64 bar;\n" \
    ".shared .align 8 .b64 none;\n" \
    "ld.param.u64 %d1, [a];\nmov.u64 %d2, m;\ncvta.param.u64 %d2, %d2;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\n" \
    "mov.u32 %r3, bar;\nsetp.ne.u32 %p1, %r1, 0;\n" code "\nret;\n}\n"
#define ONE "@%p1 bra END;\n"
#define INIT "mbarrier.init.shared::cta.b64 [%r3], 1;\nfence.mbarrier_init.release.cluster;\n"
#define EXPECT(n) "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], " #n ";\n"
#define WAIT "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;\n@!%p2 bra W;\n"
#define LOAD(n) "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1], " #n ", [%r3];\n"
#define DONE "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
#define TILE(dim, at) \
    "cp.async.bulk.tensor." dim ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%d2, " at \
    "], [%r3];\n"

enum { OUT = 16384 };    /* where kernels write: EX_BASE + OUT */

/* Kernels that write `value` to word 0 of OUT. */
static const struct { const char *name, *text; uint32_t value; } good[] = {
    { "a load", BODY(ONE INIT EXPECT(64) LOAD(64) WAIT "ld.shared.u32 %r5, [%r2+60];\n"
          "st.global.u32 [%d1+16384], %r5;\nEND:"),
      15 },
    { "a load to shared::cta, with a policy",
      BODY(ONE INIT EXPECT(64) "createpolicy.fractional.L2::evict_last.b64 %d5, 1.0;\n"
           "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint "
           "[%r2], [%d1+16], 64, [%r3], %d5;\n"
           WAIT "ld.shared.u32 %r5, [%r2+60];\nst.global.u32 [%d1+16384], %r5;\nEND:"),
      19 },
    { "a load before its bytes are expected",
      BODY(ONE INIT LOAD(32) EXPECT(32) WAIT "ld.shared.u32 %r5, [%r2+28];\nst.global.u32 [%d1+16384], %r5;\nEND:"),
          7 },
    { "a load of bytes that are expected in two parts",
      BODY(ONE INIT "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 16;\n" EXPECT(16) LOAD(16)
           "mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r3], 0;\n"
           "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r3], 16;\n" WAIT
           "selp.u32 %r5, 1, 2, %p3;\nst.global.u32 [%d1+16384], %r5;\nEND:"), 2 },
    { "a load of nothing", BODY(ONE INIT EXPECT(0) LOAD(0) WAIT "mov.u32 %r5, 3;\nst.global.u32 [%d1+16384], %r5;\n"
          "END:"), 3 },
    { "a multicast to the own block",
      BODY(ONE INIT EXPECT(16) "mov.u16 %h1, 1;\n"
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%d1+32], 16, "
           "[%r3], %h1;\n" WAIT "ld.shared.u32 %r5, [%r2];\nst.global.u32 [%d1+16384], %r5;\nEND:"), 8 },
    { "a copy from shared to shared memory",
      BODY(ONE INIT EXPECT(32) "mov.u32 %r5, 77;\nst.shared.u32 [%r2+1024], %r5;\nfence.proxy.async.shared::cta;\n"
           "add.u32 %r6, %r2, 1024;\n"
           "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [%r6], 32, [%r3];\n" WAIT
           "ld.shared.u32 %r5, [%r2];\nst.global.u32 [%d1+16384], %r5;\nEND:"), 77 },
    { "a store",
      BODY(ONE "mov.u32 %r5, 99;\nst.shared.u32 [%r2], %r5;\nfence.proxy.async.shared::cta;\n"
           "cp.async.bulk.global.shared::cta.bulk_group [%d1+16384], [%r2], 16;\n"
           "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\ncp.async.bulk.wait_group 0;\nEND:"), 99 },
    { "a read before the wait finds all ones",
      BODY(ONE INIT EXPECT(64) LOAD(64) "ld.shared.u32 %r5, [%r2+60];\nst.global.u32 [%d1+16384], %r5;\nEND:"),
      0xffffffff },
    { "a load is done where another thread waits",
      BODY("@%p1 bra B;\n" INIT EXPECT(64) LOAD(64) "B: bar.sync 0;\nsetp.ne.u32 %p3, %r1, 40;\n@%p3 bra C;\n" WAIT
           "C: bar.sync 0;\n" ONE "ld.shared.u32 %r5, [%r2+60];\nst.global.u32 [%d1+16384], %r5;\nEND:"), 15 },
    { "a wait at another mbarrier does not do it",
      BODY(ONE INIT EXPECT(64) LOAD(64) "mov.u32 %r4, none;\nmbarrier.init.shared::cta.b64 [%r4], 1;\n"
           "mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r4], 0;\nld.shared.u32 %r5, [%r2+60];\n"
           "st.global.u32 [%d1+16384], %r5;\nEND:"), 0xffffffff },
    { "a store has what its source has at the wait",
      BODY(ONE "mov.u32 %r5, 99;\nst.shared.u32 [%r2], %r5;\nfence.proxy.async.shared::cta;\n"
           "cp.async.bulk.global.shared::cta.bulk_group [%d1+16384], [%r2], 16;\ncp.async.bulk.commit_group;\n"
           "mov.u32 %r5, 98;\nst.shared.u32 [%r2], %r5;\ncp.async.bulk.wait_group 0;\nEND:"), 98 },
    { "a store that is not waited for is done at the end",
      BODY(ONE "mov.u32 %r5, 99;\nst.shared.u32 [%r2], %r5;\nfence.proxy.async.shared::cta;\n"
           "cp.async.bulk.global.shared::cta.bulk_group [%d1+16384], [%r2], 16;\nEND:"), 99 },
    { "a wait leaves as many groups as it says, of its own thread",
      BODY("setp.gt.u32 %p2, %r1, 1;\n@%p2 bra END;\nmov.u32 %r5, 5;\nst.shared.u32 [%r2], %r5;\n"
           "mul.wide.u32 %d3, %r1, 256;\nadd.u64 %d3, %d1, %d3;\nfence.proxy.async.shared::cta;\n"
           "cp.async.bulk.global.shared::cta.bulk_group [%d3+16448], [%r2], 16;\ncp.async.bulk.commit_group;\n"
           "cp.async.bulk.global.shared::cta.bulk_group [%d3+16512], [%r2], 16;\ncp.async.bulk.commit_group;\n"
           "@%p1 bra END;\ncp.async.bulk.wait_group 1;\nld.global.u32 %r6, [%d1+16448];\n"
           "ld.global.u32 %r7, [%d1+16512];\nld.global.u32 %r8, [%d1+16704];\nmad.lo.u32 %r6, %r6, 10000, %r7;\n"
           "add.u32 %r6, %r6, %r8;\nst.global.u32 [%d1+16384], %r6;\nEND:"), 5 * 10000 + 16512 / 4 + 16704 / 4 },
    { "prefetches and fences change nothing",
      BODY("cp.async.bulk.prefetch.L2.global [%d1], 64;\nprefetch.tensormap [%d2];\n"
           "prefetch.param.tensormap [m];\n"
           "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d2, {%r1, %r1}];\n"
           "fence.proxy.async;\nfence.proxy.async.global;\nfence.proxy.tensormap::generic.release.gpu;\n"
           "fence.proxy.tensormap::generic.acquire.gpu [%d2], 128;\n"
           "fence.acquire.sync_restrict::shared::cluster.cluster;\n"
           "griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\n"
           ONE "mov.u32 %r5, 5;\nst.global.u32 [%d1+16384], %r5;\nEND:"), 5 },
    { "a tile", BODY(ONE INIT EXPECT(64) TILE("2d", "{%r1, 1}") WAIT
                     "ld.shared.u32 %r5, [%r2+12];\nst.global.u32 [%d1+16384], %r5;\nEND:"), 11 },
    { "the block is a cluster",
      BODY(ONE "mov.u32 %r5, %cluster_ctarank;\nmov.u32 %r6, %cluster_nctarank;\n"
          "mapa.shared::cluster.u32 %r7, %r2, %r5;\n"
           "st.shared::cluster.u32 [%r7+4], %r6;\nld.shared.u32 %r8, [%r2+4];\n"
           "getctarank.shared::cluster.u32 %r9, %r7;\nadd.u32 %r8, %r8, %r9;\ncvta.shared.u64 %d5, s;\n"
           "mapa.u64 %d6, %d5, 0;\nst.u32 [%d6+8], 40;\nld.shared.u32 %r9, [%r2+8];\nadd.u32 %r8, %r8, %r9;\n"
           "mapa.shared::cluster.u32 %r9, s, 0;\nsub.u32 %r9, %r9, %r2;\nadd.u32 %r8, %r8, %r9;\n"
           "st.global.u32 [%d1+16384], %r8;\nEND:"), 41 },
    { "an arrival at the own block's mbarrier, as at another's",
      BODY(ONE INIT "mapa.shared::cluster.u32 %r7, %r3, 0;\n"
          "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r7], 1;\n"
           WAIT "mov.u32 %r5, 6;\nst.global.u32 [%d1+16384], %r5;\nEND:"), 6 },
    { "the cluster's barrier, three times",
      BODY("mov.u32 %r5, 0;\nL: mul.lo.u32 %r6, %r1, 4;\nadd.u32 %r6, %r6, %r2;\nadd.u32 %r7, %r1, %r5;\n"
           "st.shared.u32 [%r6], %r7;\nbarrier.cluster.arrive.release.aligned;\nadd.u32 %r5, %r5, 1;\n"
           "barrier.cluster.wait.acquire.aligned;\nxor.b32 %r8, %r1, 63;\nmul.lo.u32 %r8, %r8, 4;\n"
           "add.u32 %r8, %r8, %r2;\nld.shared.u32 %r9, [%r8];\nadd.u32 %r10, %r10, %r9;\n"
           "barrier.cluster.arrive;\nbarrier.cluster.wait;\nsetp.lt.u32 %p2, %r5, 3;\n@%p2 bra L;\n"
           ONE "st.global.u32 [%d1+16384], %r10;\nEND:"), 192 },
    { "threads that have ended count as arrived at the cluster's barrier",
      BODY("setp.gt.u32 %p2, %r1, 40;\n@%p2 ret;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n" ONE
           "mov.u32 %r5, 4;\nst.global.u32 [%d1+16384], %r5;\nEND:"), 4 },
    { "one lane is elected",
      BODY("mov.u32 %r5, 0;\nelect.sync %r6|%p2, 0xffffffff;\n@%p2 add.u32 %r5, %r5, 1;\n"
           "@%p2 atom.global.add.u32 %r7, [%d1+16388], %r5;\nbar.sync 0;\n" ONE
           "ld.global.u32 %r5, [%d1+16388];\nst.global.u32 [%d1+16384], %r5;\nEND:"), 2 },
};

static const struct { const char *name, *text; cji_exec_fault_kind kind; const char *says; } bad[] = {
    { "24 bytes", BODY(ONE INIT "mov.u32 %r5, 24;\n"
                       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                       "[%r2], [%d1], %r5, [%r3];\nEND:"),
      CJI_EXEC_FAULT_MISALIGNED, "copies 24 bytes, which is no multiple of 16" },
    { "a destination that is not aligned", BODY(ONE INIT "add.u32 %r2, %r2, 8;\n" LOAD(32) "END:"),
      CJI_EXEC_FAULT_MISALIGNED, "writes 32 bytes at 0x8, which is no multiple of 16" },
    { "a source that is not aligned", BODY(ONE INIT "add.u64 %d1, %d1, 4;\n" LOAD(32) "END:"),
      CJI_EXEC_FAULT_MISALIGNED, "reads 32 bytes at 0x700000000004, which is no multiple of 16" },
    { "a source beyond the allocation", BODY(ONE INIT "add.u64 %d1, %d1, 262128;\n" LOAD(32) "END:"),
      CJI_EXEC_FAULT_ADDRESS, "of which only 16 lie inside the allocation" },
    { "a destination beyond shared memory", BODY(ONE INIT "add.u32 %r2, %r2, 8192;\n" LOAD(64) "END:"),
      CJI_EXEC_FAULT_ADDRESS, "writes 64 bytes at offset 8192 of shared memory, which has " },
    { "a store beyond the allocation",
      BODY(ONE "add.u64 %d1, %d1, 262144;\ncp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], 16;\n" DONE
          "END:"),
      CJI_EXEC_FAULT_ADDRESS, "writes 16 bytes at 0x700000040000, which is no device memory" },
    { "an mbarrier that was not made", BODY(ONE "mov.u32 %r3, none;\n" LOAD(16) "END:"), CJI_EXEC_FAULT_SYNC,
      "as an mbarrier, which was not initialised" },
    { "bytes expected at an mbarrier that was not made", BODY(ONE EXPECT(16) "END:"), CJI_EXEC_FAULT_SYNC,
      "as an mbarrier, which was not initialised" },
    { "too many bytes", BODY(ONE INIT "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 1048575;\n" EXPECT(1)
          "END:"),
      CJI_EXEC_FAULT_SYNC, "makes the transaction count of an mbarrier 1048576: at most 1048575 bytes can be missing" },
    { "a multicast to a block that is not there",
      BODY(ONE INIT "mov.u16 %h1, 3;\n"
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%d1], 16, "
           "[%r3], %h1;\nEND:"), CJI_EXEC_FAULT_ADDRESS, "names the blocks 0x3 of a cluster, which has one" },
    { "an address of a block that is not there", BODY("mapa.shared::cluster.u32 %r7, %r2, 1;"), CJI_EXEC_FAULT_SPACE,
      "names block 1 of a cluster, which has 1" },
    { "a wait at the cluster's barrier without arrival", BODY("barrier.cluster.wait;"), CJI_EXEC_FAULT_BARRIER,
      "waits at the cluster's barrier without having arrived" },
    { "two arrivals", BODY(ONE "barrier.cluster.arrive;\nbarrier.cluster.arrive;\nEND: bar.sync 0;"),
      CJI_EXEC_FAULT_BARRIER, "arrives at the cluster's barrier again before it is complete" },
    { "a cluster's barrier where not all come",
      BODY("@!%p1 bra E;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nE: bar.sync 0;"), CJI_EXEC_FAULT_BARRIER,
          "" },
    { "a tile to an address that is no multiple of 128",
      BODY(ONE INIT "add.u32 %r2, %r2, 64;\n" TILE("2d", "{0, 0}") "END:"), CJI_EXEC_FAULT_MISALIGNED,
      "writes 64 bytes at 0x40, which is no multiple of 128" },
    { "no tensor map", BODY(ONE INIT "mov.u64 %d2, %d1;\n" TILE("2d", "{0, 0}") "END:"), CJI_EXEC_FAULT_ADDRESS,
      "names 0x700000000000 as a tensor map, where there is none" },
    { "a tensor map that the kernel has changed",
      BODY(ONE INIT "add.u64 %d5, %d1, 8192;\nmov.u32 %r5, 0;\n"
           "L: cvt.u64.u32 %d6, %r5;\nadd.u64 %d7, %d2, %d6;\nld.u64 %d8, [%d7];\n"
           "add.u64 %d7, %d5, %d6;\nst.u64 [%d7], %d8;\nadd.u32 %r5, %r5, 8;\nsetp.lt.u32 %p3, %r5, 128;\n"
           "@%p3 bra L;\nst.global.u8 [%d5+83], 0;\nmov.u64 %d2, %d5;\n" TILE("2d", "{0, 0}") "END:"),
      CJI_EXEC_FAULT_ADDRESS, "names 0x700000002000 as a tensor map, where there is none" },
    { "a tensor map that is not aligned", BODY(ONE INIT "add.u64 %d2, %d2, 8;\n" TILE("2d", "{0, 0}") "END:"),
      CJI_EXEC_FAULT_MISALIGNED, "which is no multiple of 64" },
    { "other dimensions than the map's", BODY(ONE INIT TILE("3d", "{0, 0, 0}") "END:"), CJI_EXEC_FAULT_ADDRESS,
      "has 3 coordinates, and the tensor map 2 dimensions" },
    { "a load of a tile within a unit", BODY(ONE INIT TILE("2d", "{2, 0}") "END:"), CJI_EXEC_FAULT_OPERAND,
      "begins a tile at coordinate 2 of dimension 0, 8 bytes from the tensor's beginning: a tile begins at a" },
    { "a load of a tile within a unit before the tensor", BODY(ONE INIT TILE("2d", "{-3, 0}") "END:"),
      CJI_EXEC_FAULT_OPERAND, "begins a tile at coordinate -3 of dimension 0, -12 bytes from the tensor's beginning" },
    { "a store that begins before the tensor",
      BODY(ONE "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d2, {-4, 0}], [%r2];\n" DONE "END:"),
      CJI_EXEC_FAULT_OPERAND, "begins a tile at coordinate -4 of dimension 0: only loads may begin before the tensor" },
    { "a reduction that begins before the tensor",
      BODY(ONE "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%d2, {0, -1}], [%r2];\n" DONE
          "END:"),
      CJI_EXEC_FAULT_OPERAND, "begins a tile at coordinate -1 of dimension 1: only loads may begin before the tensor" },
    { "a tile beyond shared memory", BODY(ONE INIT "add.u32 %r2, %r2, 8192;\n" TILE("2d", "{0, 0}") "END:"),
      CJI_EXEC_FAULT_ADDRESS, "writes 64 bytes at offset 8192 of shared memory" },
    { "a tensor that is larger than its memory", BODY(ONE INIT TILE("2d", "{0, 8191}") "END:"), CJI_EXEC_FAULT_ADDRESS,
      "reads 16 bytes at 0x700000040000, which is no device memory" },
    { "the least of numbers of floating point",
      BODY(ONE "cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.bulk_group [%d2, {0, 0}], [%r2];\nEND:"),
      CJI_EXEC_FAULT_ADDRESS, "reduces a tensor of f32 by an operation that this type does not have" },
};

/* 8 x 16384 words of 32 bits, tiles of 4 x 4. The second half is beyond the memory. */
static cji_exec_tensor_map map_of(unsigned type)
{
    return (cji_exec_tensor_map){ .magic = CJI_EXEC_TENSOR_MAGIC, .address = EX_BASE, .stride = { 32 }, .dims = 2,
                                  .last = { 7, 16383 }, .tile = { 4, 4 }, .step = { 1, 1 }, .type = (uint8_t)type };
}

static bool run(cji_exec_program *p, unsigned type, cji_exec_fault *fault)
{
    uint64_t params[24] = { EX_BASE };
    cji_exec_tensor_map map = map_of(type);
    const cji_exec_kernel *k = cji_exec_program_kernel(p, "k");
    memcpy((unsigned char *)params + k->param[1].offset, &map, sizeof map);
    for (uint32_t i = 0; i < 8192; i++) memcpy(ex_memory + (size_t)i * 4, &i, 4);
    memset(ex_memory + OUT, 0, 64);
    return ex_run(p, "k", 1, 64, 0, params, fault);
}

/* ---- Reductions: each operation on each type that has it --------------------------------------------------------- */

static const struct { const char *op; unsigned type, bytes; uint64_t a, b, want; } reductions[] = {
    { "add", 2, 4, 0xffffffff, 3, 2 },
    { "min", 2, 4, 0xffffffff, 3, 3 },
    { "max", 2, 4, 0xffffffff, 3, 0xffffffff },
    { "inc", 2, 4, 3, 3, 0 },
    { "inc", 2, 4, 2, 3, 3 },
    { "dec", 2, 4, 0, 3, 3 },
    { "dec", 2, 4, 3, 3, 2 },
    { "and", 2, 4, 12, 10, 8 },
    { "or", 2, 4, 12, 10, 14 },
    { "xor", 2, 4, 12, 10, 6 },
    { "add", 3, 4, 0xffffffff, 3, 2 },
    { "min", 3, 4, 0xffffffff, 3, 0xffffffff },
    { "max", 3, 4, 0xffffffff, 3, 3 },
    { "add", 4, 8, UINT64_MAX, 3, 2 },
    { "min", 4, 8, UINT64_MAX, 3, 3 },
    { "max", 5, 8, UINT64_MAX, 3, 3 },
    { "xor", 5, 8, UINT64_MAX, 3, UINT64_MAX - 3 },
    { "add", 6, 2, 0x3c00, 0x4000, 0x4200 },
    { "max", 6, 2, 0xbc00, 0x4000, 0x4000 },
    { "add", 7, 4, 0x3f800000, 0x40000000, 0x40400000 },
    { "add", 9, 2, 0x3f80, 0x4000, 0x4040 },
    { "min", 9, 2, 0xbf80, 0x4000, 0xbf80 },
};

/* Element 1 of a row of 16 bytes is a, and changed by b. */
static void check_reduction(size_t i)
{
    static const char form[] =
        BODY(ONE "ld.global.u64 %d5, [%d1+16384];\nst.shared.u64 [%r2], %d5;\nld.global.u64 %d5, [%d1+16392];\n"
             "st.shared.u64 [%r2+8], %d5;\nfence.proxy.async.shared::cta;\n"
             "cp.reduce.async.bulk.tensor.1d.global.shared::cta.OPERATION.tile.bulk_group [%d2, {0}], [%r2];\n" DONE
             "END:");
    char text[2048];
    const unsigned bytes = reductions[i].bytes;
    const char *at = strstr(form, "OPERATION");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - form), form, reductions[i].op, at + strlen("OPERATION"));
    cji_exec_program *p = ex_load(text);
    cji_exec_fault fault;
    uint64_t params[24] = { EX_BASE };
    cji_exec_tensor_map map = { .magic = CJI_EXEC_TENSOR_MAGIC, .address = EX_BASE, .dims = 1,
                                .last = { 16 / bytes - 1 },
                                .tile = { (uint16_t)(16 / bytes) }, .step = { 1 },
                                .type = (uint8_t)reductions[i].type };
    memcpy((unsigned char *)params + cji_exec_program_kernel(p, "k")->param[1].offset, &map, sizeof map);
    memset(ex_memory, 0, 64);
    memset(ex_memory + OUT, 0, 64);
    memcpy(ex_memory + bytes, &reductions[i].a, bytes);
    memcpy(ex_memory + OUT + bytes, &reductions[i].b, bytes);
    if (!ex_run(p, "k", 1, 32, 0, params, &fault)) tap_bail("%s: %s", reductions[i].op, fault.sentence);
    uint64_t got = 0;
    memcpy(&got, ex_memory + bytes, bytes);
    tap_is_uint(got, reductions[i].want, "%s of type %u: 0x%llx and 0x%llx", reductions[i].op, reductions[i].type,
                (unsigned long long)reductions[i].a, (unsigned long long)reductions[i].b);
    cji_exec_program_free(p);
}

int main(void)
{
    cji_exec_fault fault;
    tap_plan(0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cji_exec_program *p = ex_load(good[i].text);
        uint32_t got;
        if (run(p, 2, &fault)) {
            memcpy(&got, ex_memory + OUT, 4);
            tap_is_uint(got, good[i].value, "%s", good[i].name);
        } else tap_fail("%s: %s", good[i].name, fault.sentence);
        cji_exec_program_free(p);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cji_exec_program *p = ex_load(bad[i].text);
        if (tap_ok(!run(p, 7, &fault), "%s", bad[i].name)) {
            tap_is_int(fault.kind, bad[i].kind, "... kind");
            tap_has_str(fault.sentence, bad[i].says, "... sentence");
            tap_ok(fault.line > 0, "... line");
        }
        cji_exec_program_free(p);
    }
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) check_reduction(i);
    return tap_done();
}
