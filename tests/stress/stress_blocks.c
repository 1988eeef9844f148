/* Memory of cj_alloc, allocated on the streams of all threads, used on others, freed by other threads: each block has
 * its owner's tag, which a kernel writes, and another one verifies before it is freed. */
#include "tests/stress/stress.h"

#include <pthread.h>

#include "tests/stream/random_blocks.h"

enum { BLOCKS = 512, BLOCK_LANES = 32 };

/* A block between its allocation and its free, of nobody; any thread takes it. */
typedef struct stress_block { cj_dptr m; uint32_t words, tag, home; } stress_block;

static struct {
    pthread_mutex_t lock;
    stress_block block[BLOCKS];
    unsigned count;
    uint32_t tags;
    cj_kernel *own, *check;
    cj_stream *s;
    cj_dptr wrong;
} blocks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void blocks_begin(void)
{
    cj_ptx *m = random_blocks_module();
    blocks.own = cj_kernel_load(stress.dev, m, "own", NULL);
    blocks.check = cj_kernel_load(stress.dev, m, "check", NULL);
    cj_ptx_free(m);
    blocks.s = cj_stream_create(stress.dev, NULL);
    blocks.wrong = cj_ipc_alloc(blocks.s, 4);
    stress_did(cj_fill32(blocks.s, blocks.wrong, 0, 1), "the count of wrong words");
    stress_did(cj_stream_sync(blocks.s), "the count of wrong words");
    stress_did(cj_error_of(blocks.check)->status, "the kernels of blocks");
}

static bool block_take(stress_thread *t, stress_block *b)
{
    pthread_mutex_lock(&blocks.lock);
    const bool there = blocks.count != 0;
    if (there) {
        const uint32_t i = stress_random(t, blocks.count);
        *b = blocks.block[i];
        blocks.block[i] = blocks.block[--blocks.count];
    }
    pthread_mutex_unlock(&blocks.lock);
    return there;
}

static bool block_put(const stress_block *b)
{
    pthread_mutex_lock(&blocks.lock);
    const bool room = blocks.count < BLOCKS;
    if (room) blocks.block[blocks.count++] = *b;
    pthread_mutex_unlock(&blocks.lock);
    return room;
}

static void block_verify(const stress_block *b, uint32_t stream)
{
    stress_did(cj_launch(stress.s[stream], blocks.check, cj_grid(1, BLOCK_LANES), b->m, b->words, b->tag, blocks.wrong),
               "a block is verified");
}

static void block_end(const stress_block *b)
{
    block_verify(b, b->home);
    stress_did(cj_free(stress.dev, b->m), "a block is freed");
}

static void block_make(stress_thread *t)
{
    stress_block b = { .home = stress_random(t, STRESS_STREAMS) };
    b.words = (16u << stress_random(t, 12)) + stress_random(t, 16);
    pthread_mutex_lock(&blocks.lock);
    b.tag = ++blocks.tags * 2654435761u;
    pthread_mutex_unlock(&blocks.lock);
    b.m = cj_alloc(stress.s[b.home], 4 * (size_t)b.words);
    if (!b.m.addr) {
        stress_failed("a block", cj_error_last()->message);
        return;
    }
    stress_did(cj_launch(stress.s[b.home], blocks.own, cj_grid(1, BLOCK_LANES), b.m, b.words, b.tag), "a tag");
    if (!block_put(&b)) block_end(&b);
}

/* Another stream verifies it, behind its home stream. */
static void block_use(stress_thread *t)
{
    stress_block b;
    const uint32_t other = stress_random(t, STRESS_STREAMS);
    if (!block_take(t, &b)) return;
    stress_did(cj_stream_fork(stress.s[b.home], stress.s[other]), "a fork");
    block_verify(&b, other);
    stress_did(cj_stream_use(stress.s[other], b.m), "a use");
    if (!block_put(&b)) block_end(&b);
}

static void blocks_step(stress_thread *t)
{
    stress_block b;
    const uint32_t what = stress_random(t, 100);
    if (what < 45) block_make(t);
    else if (what < 88 && block_take(t, &b)) block_end(&b);
    else if (what < 99) block_use(t);
    else cj_device_trim(stress.dev, 0);
}

static void blocks_end(void)
{
    uint32_t wrong = 0;
    while (blocks.count) block_end(&blocks.block[--blocks.count]);
    for (int i = 0; i < STRESS_STREAMS; i++) stress_did(cj_stream_sync(stress.s[i]), "a stream with blocks");
    stress_did(cj_copy_to_host(blocks.s, &wrong, blocks.wrong, sizeof wrong), "the count of wrong words");
    stress_did(cj_stream_sync(blocks.s), "the count of wrong words");
    if (wrong) stress_failed("blocks", "words of a block have another owner's tag");
    stress_did(cj_free(stress.dev, blocks.wrong), "the count of wrong words is freed");
    cj_stream_free(blocks.s);
    cj_kernel_free(blocks.own);
    cj_kernel_free(blocks.check);
}

const stress_part stress_blocks = { "blocks", blocks_begin, blocks_step, blocks_end };
