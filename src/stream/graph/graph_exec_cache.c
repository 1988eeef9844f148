/* Execs found again by key: the same key launches, the same shape updates, else one is built.
 *
 * Invariants.  Entries are in a list from the one launched last to the one launched first, and in a table by key.  An
 * entry that is taken for an update loses its key first: if the update fails, the exec is freed.  The cache's lock is
 * held over launches, so that two threads with one key build one exec; it comes before a graph's lock. */
#include "stream/graph/stream_graph.h"

#include <string.h>

typedef struct cached_exec {
    struct cached_exec *newer, *older; /* in the order of launches */
    struct cached_exec *next;          /* of the same slot */
    uint64_t hash, shape, stream;      /* of the key; of the graph; the stream's id */
    size_t nodes, bytes;
    cj_graph_exec *exec;
    char *key;
} cached_exec;

enum { CACHE_SLOTS = 256 };

struct cj_graph_exec_cache {
    cji_obj obj;
    cj_device *dev; /* retained */
    cj_graph_exec_cache_opts opts;
    cj_graph_exec_opts exec;
    pthread_mutex_t lock;      /* guards what follows */
    cached_exec *first, *last; /* launched last, launched first */
    cached_exec *slot[CACHE_SLOTS];
    cj_graph_exec_cache_info info;
};

/* -- Entries; with the lock held ----------------------------------------------------------------------------------- */

static void cache_list_in(cj_graph_exec_cache *c, cached_exec *e)
{
    e->newer = NULL;
    e->older = c->first;
    *(c->first ? &c->first->newer : &c->last) = e;
    c->first = e;
}

static void cache_list_out(cj_graph_exec_cache *c, cached_exec *e)
{
    *(e->newer ? &e->newer->older : &c->first) = e->older;
    *(e->older ? &e->older->newer : &c->last) = e->newer;
}

static cached_exec *cache_find(const cj_graph_exec_cache *c, uint64_t hash, const void *key, size_t bytes)
{
    cached_exec *e = c->slot[hash % CACHE_SLOTS];
    while (e && (e->hash != hash || e->bytes != bytes || memcmp(e->key, key, bytes) != 0)) e = e->next;
    return e;
}

static void cache_enter(cj_graph_exec_cache *c, cached_exec *e)
{
    e->next = c->slot[e->hash % CACHE_SLOTS];
    c->slot[e->hash % CACHE_SLOTS] = e;
    cache_list_in(c, e);
    c->info.execs++;
    c->info.nodes += e->nodes;
}

/* Out of the cache; the entry is the caller's. */
static void cache_take(cj_graph_exec_cache *c, cached_exec *e)
{
    cached_exec **at = &c->slot[e->hash % CACHE_SLOTS];
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    cache_list_out(c, e);
    c->info.execs--;
    c->info.nodes -= e->nodes;
}

static void cached_free(cached_exec *e)
{
    cj_graph_exec_free(e->exec);
    cji_free(e->key, e->bytes);
    cji_free(e, sizeof *e);
}

/* Lets the least recently launched go until there is room. */
static void cache_make_room(cj_graph_exec_cache *c, size_t execs, size_t nodes)
{
    while (c->last && (c->info.execs + execs > c->opts.execs || c->info.nodes + nodes > c->opts.nodes)) {
        cached_exec *e = c->last;
        cache_take(c, e);
        cached_free(e);
        c->info.evictions++;
    }
}

/* -- Making and releasing ------------------------------------------------------------------------------------------ */

void cj_graph_exec_cache_defaults(cj_graph_exec_cache_opts *opts)
{
    if (opts)
        *opts = (cj_graph_exec_cache_opts){ .size = sizeof *opts, .execs = 64, .execs_per_shape = 1, .nodes = 65536 };
}

cj_graph_exec_cache *cj_graph_exec_cache_create(cj_device *dev, const cj_graph_exec_cache_opts *opts)
{
    static const char call[] = "cj_graph_exec_cache_create";
    cj_graph_exec_cache_opts usual;
    cj_graph_exec_cache *c = cji_obj_new(sizeof *c, CJI_TAG_GRAPH_EXEC_CACHE, 0, call);
    if (cji_obj_failed(c)) return c;
    pthread_mutex_init(&c->lock, NULL);
    cj_graph_exec_cache_defaults(&usual);
    cj_graph_exec_defaults(&c->exec);
    c->opts = usual;
    if (cji_check_arg(c, dev, CJI_TAG_DEVICE, call, "the device") != CJ_OK ||
        !cji_opts_take(&c->opts, sizeof c->opts, opts, c, call, "cj_graph_exec_cache") ||
        !cji_opts_take(&c->exec, sizeof c->exec, c->opts.exec, c, call, "cj_graph_exec")) {
        cji_obj_set_failed(c);
        return c;
    }
    if (!c->opts.execs) c->opts.execs = usual.execs;
    if (!c->opts.execs_per_shape) c->opts.execs_per_shape = usual.execs_per_shape;
    if (!c->opts.nodes) c->opts.nodes = usual.nodes;
    c->opts.exec = NULL;
    c->dev = cji_obj_retain(dev);
    return c;
}

void cj_graph_exec_cache_free(cj_graph_exec_cache *c)
{
    if (!cji_check_free(c, CJI_TAG_GRAPH_EXEC_CACHE, "cj_graph_exec_cache_free") || !cji_obj_release(c)) return;
    cj_device *dev = c->dev;
    while (c->first) {
        cached_exec *e = c->first;
        cache_take(c, e);
        cached_free(e);
    }
    pthread_mutex_destroy(&c->lock);
    cji_obj_delete(c, sizeof *c);
    cji_device_drop(dev);
}

void cj_graph_exec_cache_info_defaults(cj_graph_exec_cache_info *info)
{
    if (info) *info = (cj_graph_exec_cache_info){ .size = sizeof *info };
}

cj_status cj_graph_exec_cache_get_info(cj_graph_exec_cache *c, cj_graph_exec_cache_info *info)
{
    static const char call[] = "cj_graph_exec_cache_get_info";
    cj_status st = cji_check(c, CJI_TAG_GRAPH_EXEC_CACHE, call);
    if (st != CJ_OK) return st;
    if (!info || info->size < sizeof info->size)
        return cji_fail(c, CJ_EINVAL, call, "info is NULL, or info->size is not sizeof(cj_graph_exec_cache_info)");
    size_t size = info->size;
    cji_lock(&c->lock, CJI_LOCK_GRAPH_EXEC_CACHE);
    memcpy(info, &c->info, size < sizeof *info ? size : sizeof *info);
    cji_unlock(&c->lock, CJI_LOCK_GRAPH_EXEC_CACHE);
    info->size = size;
    return CJ_OK;
}

/* -- The ladder ---------------------------------------------------------------------------------------------------- */

typedef struct cache_job {
    cj_graph_exec_cache *c;
    const void *key;
    size_t bytes;
    uint64_t hash, shape;
    size_t nodes;
    cj_graph *g;
    cj_stream *s;
    const char *call;
} cache_job;

/* The failure, recorded in `from` already, is the cache's and the stream's too. */
static cj_status cache_failed(const cache_job *j, const void *from, cj_status st)
{
    if (from) cji_fail_from(j->c, from, j->call);
    cji_fail_with(j->s, cj_error_last());
    return cji_stream_failed(j->s, st);
}

/* Launches what is there; false: nothing is. */
static bool cache_hit(const cache_job *j, cj_status *st)
{
    cj_graph_exec_cache *c = j->c;
    cached_exec *e = cache_find(c, j->hash, j->key, j->bytes);
    if (!e) return false;
    cache_list_out(c, e);
    cache_list_in(c, e);
    e->stream = j->s->id;
    *st = cj_graph_launch(j->s, e->exec); /* leaves a failure in the stream */
    if (*st != CJ_OK) cji_fail_from(c, e->exec, j->call);
    else c->info.launches++;
    return true;
}

/* Of the execs with that shape on that stream the one that an update may take: the oldest, once there are as many as
 * there may be. */
static cached_exec *cache_same_shape(const cache_job *j)
{
    uint32_t n = 0;
    cached_exec *oldest = NULL;
    for (cached_exec *e = j->c->last; e; e = e->newer) {
        if (e->shape != j->shape || e->stream != j->s->id || e->nodes != j->nodes) continue;
        if (!oldest) oldest = e;
        n++;
    }
    return n >= j->c->opts.execs_per_shape ? oldest : NULL;
}

/* With everything known and no exec for the key.  `e` is new, `key` its key. */
static cj_status cache_fill(const cache_job *j, cached_exec *e)
{
    cj_graph_exec_cache *c = j->c;
    cached_exec *old = cache_same_shape(j);
    if (old) {
        cache_take(c, old);
        if (cj_graph_exec_update(old->exec, j->g) == CJ_OK) {
            e->exec = old->exec;
            old->exec = NULL;
            c->info.updates++;
        }
        cached_free(old);
    }
    if (!e->exec) {
        e->exec = cj_graph_instantiate(j->g, &c->exec);
        if (cji_obj_failed(e->exec)) return cache_failed(j, e->exec, (cj_status)cj_error_of(e->exec)->status);
        c->info.builds++;
    }
    cj_status st = cj_graph_launch(j->s, e->exec);
    if (st != CJ_OK) cji_fail_from(c, e->exec, j->call);
    return st;
}

static cj_status cache_shape(cache_job *j)
{
    cji_scope scope;
    cj_status st = cji_graph_enter(j->g, j->c, j->call);
    if (st != CJ_OK) return st;
    st = cji_scope_begin_relaxed(j->c, j->g->dev, &scope, j->call);
    if (st == CJ_OK) {
        st = cji_shape_hash(j->g, &j->shape, &j->nodes, j->c, j->call);
        cji_scope_leave(&scope);
    }
    cji_graph_leave(j->g);
    return st;
}

/* With the lock held. */
static cj_status cache_miss(cache_job *j)
{
    cj_graph_exec_cache *c = j->c;
    cj_status st = cache_shape(j);
    cached_exec *e = st == CJ_OK ? cji_zalloc(sizeof *e) : NULL;
    char *key = e ? cji_alloc(j->bytes) : NULL;
    if (!key) {
        cji_free(e, sizeof *e);
        return cache_failed(j, NULL, st != CJ_OK ? st : cji_fail(c, CJ_ENOMEM, j->call, "no memory to note the exec"));
    }
    memcpy(key, j->key, j->bytes);
    *e = (cached_exec){
        .hash = j->hash, .shape = j->shape, .stream = j->s->id, .nodes = j->nodes, .bytes = j->bytes, .key = key
    };
    st = cache_fill(j, e);
    if (st != CJ_OK || j->nodes > c->opts.nodes) {
        cached_free(e);
        return st;
    }
    cache_make_room(c, 1, j->nodes);
    cache_enter(c, e);
    return CJ_OK;
}

static cj_status cache_check(cache_job *j, bool put)
{
    cj_status st = cji_check(j->c, CJI_TAG_GRAPH_EXEC_CACHE, j->call);
    if (st != CJ_OK) return st;
    st = cji_check_arg(j->c, j->s, CJI_TAG_STREAM, j->call, "the stream");
    if (st != CJ_OK) return st;
    if (put) st = cji_check_arg(j->c, j->g, CJI_TAG_GRAPH, j->call, "the graph");
    if (st == CJ_OK && (!j->key || !j->bytes)) st = cji_fail(j->c, CJ_EINVAL, j->call, "the key is NULL or of 0 bytes");
    if (st == CJ_OK && !cji_same_device(&j->c->dev->queue, j->s->queue))
        st = cji_cu_fail_apart(j->c, j->c->dev, j->s->dev, j->call,
                               "the cache is for device %d, the stream of device %d", cj_device_ordinal(j->c->dev),
                               cj_device_ordinal(j->s->dev));
    if (st != CJ_OK) return cache_failed(j, NULL, st);
    j->hash = cji_hash(j->key, j->bytes);
    return CJ_OK;
}

cj_status cj_graph_exec_cache_launch(cj_graph_exec_cache *c, const void *key, size_t bytes, cj_stream *s)
{
    cache_job j = { .c = c, .key = key, .bytes = bytes, .s = s, .call = "cj_graph_exec_cache_launch" };
    cj_status st = cache_check(&j, false);
    if (st != CJ_OK) return st;
    cji_lock(&c->lock, CJI_LOCK_GRAPH_EXEC_CACHE);
    if (!cache_hit(&j, &st)) st = CJ_ENOTFOUND;
    cji_unlock(&c->lock, CJI_LOCK_GRAPH_EXEC_CACHE);
    return st;
}

cj_status cj_graph_exec_cache_put(cj_graph_exec_cache *c, const void *key, size_t bytes, cj_graph *g, cj_stream *s)
{
    cache_job j = { .c = c, .key = key, .bytes = bytes, .g = g, .s = s, .call = "cj_graph_exec_cache_put" };
    cj_status st = cache_check(&j, true);
    if (st != CJ_OK) return st;
    cji_lock(&c->lock, CJI_LOCK_GRAPH_EXEC_CACHE);
    if (!cache_hit(&j, &st)) st = cache_miss(&j);
    cji_unlock(&c->lock, CJI_LOCK_GRAPH_EXEC_CACHE);
    return st;
}
