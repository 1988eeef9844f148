/* The arguments of a call that is repeated: trees of the recording become memory, with what handles and addresses are
 * now. */
#include <stdio.h>

#include "driver/interpose/replay_parts.h"

enum { ARGS_ADDRESS = 1 << 16 }; /* no address is below */

static uint64_t make_argument(cji_replay *rp, const unsigned char **p);

static void args_wrong(cji_replay *rp, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void args_wrong(cji_replay *rp, const char *fmt, ...)
{
    va_list list;
    if (*rp->why) return;
    va_start(list, fmt);
    vsnprintf(rp->why, sizeof rp->why, fmt, list);
    va_end(list);
}

static void *replay_no_room(cji_replay *rp)
{
    args_wrong(rp, "there is no memory for it");
    return NULL;
}

static void *args_memory(cji_replay *rp, cji_arena *arena, size_t n)
{
    void *p = cji_arena_alloc(arena, n ? n : 1);
    return p ? p : replay_no_room(rp);
}

/* -- Words that are addresses -------------------------------------------------------------------------------------- */

/* In what kernels get and what copies read; a program's numbers are hardly ever in its memory's range. */
static void translate_words(cji_replay *rp, unsigned char *p, size_t n)
{
    const cji_replay_maps *m = &rp->maps;
    if (!m->ranges) return;
    const uint64_t lowest = m->range[0].then, highest = m->range[m->ranges - 1].then + m->range[m->ranges - 1].bytes;
    for (size_t i = 0; i + 8 <= n; i += 8) {
        uint64_t v;
        memcpy(&v, p + i, 8);
        if (v < lowest || v > highest || v < ARGS_ADDRESS) continue;
        if (cji_replay_is_lost(m, v)) args_wrong(rp, "the memory at %#llx was not made", (unsigned long long)v);
        if (cji_replay_address(m, v, &v)) memcpy(p + i, &v, 8);
    }
}

/* A parameter of a kernel may also be the handle of a condition, a texture or a surface. */
static void translate_param(cji_replay *rp, unsigned char *p, size_t n)
{
    static const uint8_t classes[] = { CJI_HANDLE_CONDITION, CJI_HANDLE_TEXTURE, CJI_HANDLE_SURFACE };
    uint64_t v;
    if (n == 8) memcpy(&v, p, 8);
    for (size_t i = 0; n == 8 && i < sizeof classes; i++) {
        const cji_replay_handle *h = cji_replay_find(&rp->maps, classes[i], v);
        if (!h) continue;
        memcpy(p, &h->now, 8);
        return;
    }
    translate_words(rp, p, n);
}

/* -- Single kinds -------------------------------------------------------------------------------------------------- */

static void replay_nothing(void *user) { (void)user; }

static void replay_no_callback(CUstream stream, CUresult status, void *user)
{
    (void)stream;
    (void)status;
    (void)user;
}

static uint64_t function_address(unsigned about)
{
    return about == CJI_REC_HOST_FN ? (uint64_t)(uintptr_t)replay_nothing : (uint64_t)(uintptr_t)replay_no_callback;
}

static uint64_t make_handle(cji_replay *rp, const cji_rec_arg *a)
{
    static const char *const names[] = { "handle",
#define CLASS_NAME(CLASS, type) #type,
        CJI_REC_CLASSES(CLASS_NAME)
#undef CLASS_NAME
    };
    const cji_replay_handle *h = cji_replay_find(&rp->maps, a->about, a->value);
    if (h) return h->now;
    if (!a->value || (a->about == CJI_HANDLE_STREAM && a->value <= 2)) return a->value;
    args_wrong(rp, "its %s %#llx is of no call before it", a->about < CJI_HANDLE_COUNT ? names[a->about] : names[0],
               (unsigned long long)a->value);
    return 0;
}

static uint64_t make_address(cji_replay *rp, const cji_rec_arg *a)
{
    uint64_t now = 0;
    if (!a->value || cji_replay_address(&rp->maps, a->value, &now) || a->room) return now;
    args_wrong(rp, "its %s %#llx is of no call before it", a->kind == CJI_REC_HOST ? "host memory" : "address",
               (unsigned long long)a->value);
    return 0;
}

/* Memory of the host that the call copies; an asynchronous copy has pinned memory, so that it is one here too. */
static unsigned char *piece_new(cji_replay *rp, size_t n, uint64_t data)
{
    cji_replay_piece *piece = args_memory(rp, &rp->arena, sizeof *piece);
    if (!piece) return NULL;
    if (rp->async) piece->block = cji_replay_block_take(rp, n);
    unsigned char *p = piece->block ? piece->block->p : rp->async ? replay_no_room(rp) : args_memory(rp, &rp->arena, n);
    piece->p = p;
    piece->data = data;
    piece->next = rp->pieces;
    rp->pieces = piece;
    return p;
}

static uint64_t make_source(cji_replay *rp, const cji_rec_arg *a)
{
    const cji_replay_data *data = cji_recording_data(rp->rec, a->value);
    if (!a->room) return 0;
    if (!data || data->bytes < a->room) {
        args_wrong(rp, "the %llu bytes that it copies are not in the recording, which ends before the copy was done",
                   (unsigned long long)a->room);
        return 0;
    }
    unsigned char *p = piece_new(rp, (size_t)a->room, 0);
    if (!p) return 0;
    memcpy(p, data->p, (size_t)a->room);
    translate_words(rp, p, (size_t)a->room);
    return (uint64_t)(uintptr_t)p;
}

static uint64_t make_target(cji_replay *rp, const cji_rec_arg *a)
{
    const cji_replay_data *data = cji_recording_data(rp->rec, a->value);
    if (!a->room) return 0;
    if (a->about) return (uint64_t)(uintptr_t)args_memory(rp, &rp->keep, (size_t)a->room); /* a log */
    return (uint64_t)(uintptr_t)piece_new(rp, (size_t)a->room, data && data->bytes == a->room ? a->value : 0);
}

static uint64_t make_region(cji_replay *rp, const cji_rec_arg *a)
{
    if (!a->value) return 0;
    void *p = cji_replay_region(&rp->maps, a->value, a->room, a->about);
    return p ? (uint64_t)(uintptr_t)p : (replay_no_room(rp), 0);
}

static uint64_t make_image(cji_replay *rp, const cji_rec_arg *a)
{
    const cji_replay_data *data = cji_recording_data(rp->rec, a->value);
    if (a->about == CJI_REC_LINKED) {
        for (const cji_replay_link *l = rp->links; l; l = l->next)
            if (l->number == a->value) return (uint64_t)(uintptr_t)l->p;
        args_wrong(rp, "the link that made its image was not repeated");
        return 0;
    }
    if (data && data->bytes && (a->about != CJI_REC_PTX || !data->p[data->bytes - 1]))
        return (uint64_t)(uintptr_t)data->p;
    args_wrong(rp, "its image is not in the recording");
    return 0;
}

/* A struct, a text, an array: its bytes, and in them what its children are. */
static uint64_t make_memory(cji_replay *rp, const cji_rec_arg *a, const unsigned char *bytes, const unsigned char **p)
{
    unsigned char *to = args_memory(rp, a->about == 2 ? &rp->keep : &rp->arena, (size_t)a->bytes + 8);
    if (!to) return 0;
    memcpy(to, bytes, (size_t)a->bytes);
    if (a->about == 1) translate_param(rp, to, (size_t)a->bytes);
    for (unsigned i = 0; i < a->children; i++) {
        const unsigned char *child = *p, *child_bytes, *look = child;
        const cji_rec_arg arg = cji_recording_arg(&look, &child_bytes);
        if (arg.kind < CJI_REC_LINK) {
            const uint64_t v = make_argument(rp, p);
            memcpy(to + arg.offset, &v, 8);
            continue;
        }
        *p = look;
        cji_replay_out *out = args_memory(rp, &rp->arena, sizeof *out);
        if (!out) return 0;
        *out = (cji_replay_out){ .next = rp->outs, .arg = arg, .bytes = child_bytes, .at = to + arg.offset };
        rp->outs = out;
    }
    return (uint64_t)(uintptr_t)to;
}

static uint64_t make_argument(cji_replay *rp, const unsigned char **p)
{
    const unsigned char *bytes;
    const cji_rec_arg a = cji_recording_arg(p, &bytes);
    switch (a.kind) {
    case CJI_REC_VALUE: return a.value;
    case CJI_REC_ADDRESS: case CJI_REC_HOST: return make_address(rp, &a);
    case CJI_REC_HANDLE: return make_handle(rp, &a);
    case CJI_REC_REGION: return make_region(rp, &a);
    case CJI_REC_SOURCE: return make_source(rp, &a);
    case CJI_REC_TARGET: return make_target(rp, &a);
    case CJI_REC_FUNCTION: return function_address(a.about);
    case CJI_REC_IMAGE: return make_image(rp, &a);
    case CJI_REC_MEMORY: return make_memory(rp, &a, bytes, p);
    default: args_wrong(rp, "it has an argument of a kind that stands in structs"); return 0;
    }
}

bool cji_replay_arguments(cji_replay *rp, const cji_replay_item *item, const cji_rec_call *call,
                          uint64_t value[CJI_CU_PARAMS + 1])
{
    const unsigned char *p = item->p + sizeof *call;
    const cji_replay_name *name = cji_recording_name(rp->rec, call->name);
    const cji_cu_row *row = &cji_cu_rows[name->id];
    cji_arena_clear(&rp->arena);
    rp->outs = NULL;
    rp->pieces = NULL;
    *rp->why = 0;
    rp->async = strstr(row->name, "Async") != NULL;
    for (int i = 0; i < row->count; i++) value[i] = make_argument(rp, &p);
    return !*rp->why;
}

/* -- What the driver has written ----------------------------------------------------------------------------------- */

static void take_link(cji_replay *rp, const cji_replay_out *o, const uint64_t *value)
{
    const void *made;
    size_t n = 0;
    memcpy(&made, o->at, sizeof made);
    if (value[2]) memcpy(&n, (const void *)(uintptr_t)value[2], sizeof n);
    cji_replay_link *l = args_memory(rp, &rp->keep, sizeof *l);
    void *p = n ? args_memory(rp, &rp->keep, n) : NULL;
    if (!l || !p) return;
    memcpy(p, made, n);
    *l = (cji_replay_link){ .next = rp->links, .number = o->arg.value, .p = p, .n = n };
    rp->links = l;
}

static void take_handles(cji_replay *rp, const cji_replay_out *o, uint64_t owner)
{
    const unsigned char *array;
    memcpy(&array, o->at, sizeof array);
    for (uint64_t i = 0; array && i < o->arg.room; i++) {
        uint64_t then, now;
        memcpy(&then, o->bytes + i * 8, 8);
        memcpy(&now, array + i * 8, 8);
        const bool known = o->arg.kind == CJI_REC_SEEN_HANDLES && cji_replay_find(&rp->maps, o->arg.about, then);
        if (!known && !cji_replay_bind(&rp->maps, o->arg.about, then, now, owner)) replay_no_room(rp);
    }
}

void cji_replay_bind_outs(cji_replay *rp, uint64_t owner, const uint64_t *value)
{
    for (const cji_replay_out *o = rp->outs; o; o = o->next) {
        uint64_t now;
        bool fine = true;
        memcpy(&now, o->at, sizeof now);
        const bool node = o->arg.about == CJI_HANDLE_NODE;
        switch (o->arg.kind) {
        case CJI_REC_LINK: take_link(rp, o, value); break;
        case CJI_REC_SEEN_HANDLE:
            if (node && cji_replay_find(&rp->maps, o->arg.about, o->arg.value)) break;
            /* fall through */
        case CJI_REC_NEW_HANDLE: fine = cji_replay_bind(&rp->maps, o->arg.about, o->arg.value, now, owner); break;
        case CJI_REC_NEW_HOST:
            if (now) memset((void *)(uintptr_t)now, 0, (size_t)o->arg.room); /* the same in each replay */
            /* fall through */
        case CJI_REC_NEW_ADDRESS:
            fine = cji_replay_map(&rp->maps, o->arg.value, o->arg.room, now);
            break;
        case CJI_REC_SEEN_HANDLES: case CJI_REC_NEW_HANDLES: take_handles(rp, o, owner); break;
        default: break;
        }
        if (!fine) replay_no_room(rp);
    }
}
