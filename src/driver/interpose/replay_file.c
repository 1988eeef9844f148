/* Reading a recording: every size is checked here, so that those who repeat it need not. */
#include <stdio.h>
#include <stdlib.h>

#include "driver/interpose/record_file.h"
#include "driver/interpose/replay_parts.h"

static cj_status bad_file(cji_recording *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static cj_status bad_file(cji_recording *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->why, sizeof r->why, fmt, args);
    va_end(args);
    return CJ_EINVAL;
}

/* -- Arguments ----------------------------------------------------------------------------------------------------- */

cji_rec_arg cji_recording_arg(const unsigned char **p, const unsigned char **bytes)
{
    cji_rec_arg arg;
    memcpy(&arg, *p, sizeof arg);
    *bytes = *p + sizeof arg;
    *p = *bytes + ((arg.bytes + 7) & ~(uint64_t)7);
    return arg;
}

static bool has_pointer(unsigned kind) { return kind == CJI_REC_MEMORY; }

/* How many bytes the argument at p takes with its children; 0: it is wrong. */
static size_t tree_bytes(const unsigned char *p, size_t n, unsigned depth, uint64_t room)
{
    cji_rec_arg arg;
    if (depth > CJI_REC_DEPTH || n < sizeof arg) return 0;
    memcpy(&arg, p, sizeof arg);
    size_t at = sizeof arg;
    if (!arg.kind || arg.kind >= CJI_REC_KINDS || arg.bytes > n - at) return 0;
    if (depth && (room < 8 || arg.offset > room - 8)) return 0;
    if (arg.children && !has_pointer(arg.kind)) return 0;
    const bool array = arg.kind == CJI_REC_SEEN_HANDLES || arg.kind == CJI_REC_NEW_HANDLES;
    if (array && (arg.room > UINT16_MAX || arg.bytes != arg.room * 8)) return 0;
    if ((arg.kind == CJI_REC_SOURCE || arg.kind == CJI_REC_TARGET || arg.kind == CJI_REC_REGION) &&
        arg.room > (uint64_t)1 << 46)
        return 0;
    at += (arg.bytes + 7) & ~(uint64_t)7;
    for (unsigned i = 0; i < arg.children; i++) {
        const size_t more = at < n ? tree_bytes(p + at, n - at, depth + 1, arg.bytes) : 0;
        if (!more) return 0;
        at += more;
    }
    return at <= n ? at : 0;
}

static bool call_is_good(const unsigned char *p, size_t n)
{
    cji_rec_call call;
    if (n < sizeof call) return false;
    memcpy(&call, p, sizeof call);
    size_t at = sizeof call;
    if (call.args > CJI_REC_ARGS || call.what >= CJI_REC_WHATS) return false;
    for (unsigned i = 0; i < call.args; i++) {
        const size_t more = at < n ? tree_bytes(p + at, n - at, 0, 0) : 0;
        if (!more) return false;
        at += more;
    }
    if (call.what != CJI_REC_UNKNOWN) return at == n;
    cji_rec_arg arg;
    if (call.args != 1) return false;
    memcpy(&arg, p + sizeof call, sizeof arg);
    return at == n && arg.bytes && p[sizeof call + sizeof arg + arg.bytes - 1] == 0;
}

/* -- Records ------------------------------------------------------------------------------------------------------- */

static int row_of_signature(const char *text, size_t n)
{
    char signature[CJI_REC_SIGNATURE];
    for (int i = 0; i < CJI_CU_COUNT; i++) {
        const size_t name = strlen(cji_cu_rows[i].name);
        if (n <= name || memcmp(cji_cu_rows[i].name, text, name) || text[name] != '(') continue;
        cji_rec_signature(&cji_cu_rows[i], signature, sizeof signature);
        if (strlen(signature) == n && !memcmp(signature, text, n)) return i;
    }
    return -1;
}

static cj_status take_name_record(cji_recording *r, const unsigned char *p, size_t n)
{
    if (!cji_grow(&r->name, &r->name_cap, r->names + 1, sizeof *r->name)) return CJ_ENOMEM;
    cji_replay_name *name = &r->name[r->names++];
    *name = (cji_replay_name){ .id = row_of_signature((const char *)p + 4, n - 4) };
    memcpy(&name->number, p, 4);
    cji_line l = { name->text, sizeof name->text, 0 };
    for (size_t i = 4; i < n && p[i] != '('; i++) cji_say(&l, "%c", p[i] > ' ' && p[i] < 0x7f ? p[i] : '?');
    return CJ_OK;
}

static cj_status take_item(cji_recording *r, uint32_t type, const unsigned char *p, size_t n)
{
    cji_rec_host host;
    if (type == CJI_REC_CALL && !call_is_good(p, n)) return CJ_EINVAL;
    if (type != CJI_REC_CALL) {
        memcpy(&host, p, sizeof host);
        if (host.bytes != n - sizeof host) return CJ_EINVAL;
    }
    if (!cji_grow(&r->item, &r->item_cap, r->items + 1, sizeof *r->item)) return CJ_ENOMEM;
    cji_replay_item *item = &r->item[r->items++];
    *item = (cji_replay_item){ .p = p, .bytes = n, .type = type };
    memcpy(&item->order, p, sizeof item->order); /* the first field of both */
    return CJ_OK;
}

static cj_status take_data(cji_recording *r, const unsigned char *p, size_t n)
{
    if (!cji_grow(&r->data, &r->data_cap, r->datas + 1, sizeof *r->data)) return CJ_ENOMEM;
    cji_replay_data *data = &r->data[r->datas++];
    *data = (cji_replay_data){ .p = p + 8, .bytes = n - 8 };
    memcpy(&data->number, p, 8);
    return CJ_OK;
}

static cj_status take_record(cji_recording *r, uint32_t type, const unsigned char *p, size_t n)
{
    if (n < cji_rec_front(type)) return CJ_EINVAL;
    switch (type) {
    case CJI_REC_START: r->start = (const char *)p, r->start_bytes = n; return CJ_OK;
    case CJI_REC_NAME: return take_name_record(r, p, n);
    case CJI_REC_DATA: return take_data(r, p, n);
    case CJI_REC_END: r->ended = true; return CJ_OK;
    case CJI_REC_CALL: case CJI_REC_WRITE: case CJI_REC_READ: return take_item(r, type, p, n);
    default: return CJ_EINVAL;
    }
}

static cj_status read_head(cji_recording *r)
{
    cji_rec_head head;
    if (r->n < sizeof head || memcmp(r->p, CJI_REC_MAGIC, 8))
        return bad_file(r, "it is no recording of cujit: it does not begin with " CJI_REC_MAGIC);
    memcpy(&head, r->p, sizeof head);
    if (head.order != CJI_REC_ORDER) return bad_file(r, "it was recorded on a machine of another byte order");
    if (head.version != CJI_REC_VERSION)
        return bad_file(r,
                        "it has version %u, and this cujit reads version %d: replay it with the cujit that recorded it",
                        head.version, CJI_REC_VERSION);
    if (head.check != cji_hash(&head, offsetof(cji_rec_head, check)))
        return bad_file(r, "its header is damaged");
    return CJ_OK;
}

static cj_status read_records(cji_recording *r)
{
    size_t at = sizeof(cji_rec_head);
    while (at < r->n) {
        cji_rec_record head;
        if (r->n - at < sizeof head) break;
        memcpy(&head, r->p + at, sizeof head);
        if (head.head_check != cji_rec_head_check(head.type, head.bytes))
            return bad_file(r, "it is damaged at byte %zu: the hash of a record's head is wrong", at);
        const size_t left = r->n - at - sizeof head;
        if (head.bytes > left || ((head.bytes + 7) & ~(uint64_t)7) > left) break;
        const unsigned char *p = r->p + at + sizeof head;
        const size_t n = (size_t)head.bytes, front = cji_rec_front(head.type);
        const size_t first = front < n ? front : n;
        if (head.check != cji_rec_check(p, first, p + first, n - first))
            return bad_file(r, "it is damaged in the record at byte %zu: the hash of its bytes is wrong", at);
        const cj_status status = take_record(r, head.type, p, n);
        if (status == CJ_EINVAL) return bad_file(r, "the record at byte %zu is wrong", at);
        if (status != CJ_OK) return status;
        at += sizeof head + ((n + 7) & ~(size_t)7);
    }
    r->cut = at < r->n;
    return CJ_OK;
}

static int by_order(const void *a, const void *b)
{
    const cji_replay_item *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->p < y->p ? -1 : x->p > y->p;
}

static int by_number(const void *a, const void *b)
{
    const cji_replay_data *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int by_thread(const void *a, const void *b)
{
    const cji_replay_span *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    return x->last < y->last ? -1 : x->last > y->last;
}

/* The last item of each thread. */
static cj_status find_threads(cji_recording *r)
{
    size_t n = 0;
    if (r->items && !cji_grow(&r->span, &r->span_cap, r->items, sizeof *r->span)) return CJ_ENOMEM;
    for (size_t i = 0; i < r->items; i++)
        if (r->item[i].type == CJI_REC_CALL)
            r->span[n++] = (cji_replay_span){ cji_recording_call(&r->item[i]).thread, i };
    if (n) qsort(r->span, n, sizeof *r->span, by_thread);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || r->span[i + 1].thread != r->span[i].thread) r->span[r->threads++] = r->span[i];
    return CJ_OK;
}

cj_status cji_recording_read(cji_recording *r, const void *bytes, size_t n)
{
    *r = (cji_recording){ .p = bytes, .n = n };
    cj_status status = read_head(r);
    if (status == CJ_OK) status = read_records(r);
    if (status != CJ_OK) return status;
    if (r->items) qsort(r->item, r->items, sizeof *r->item, by_order);
    if (r->datas) qsort(r->data, r->datas, sizeof *r->data, by_number);
    return find_threads(r);
}

void cji_recording_free(cji_recording *r)
{
    cji_free(r->item, r->item_cap * sizeof *r->item);
    cji_free(r->data, r->data_cap * sizeof *r->data);
    cji_free(r->name, r->name_cap * sizeof *r->name);
    cji_free(r->span, r->span_cap * sizeof *r->span);
    *r = (cji_recording){ .p = NULL };
}

/* -- Looking up ---------------------------------------------------------------------------------------------------- */

const cji_replay_data *cji_recording_data(const cji_recording *r, uint64_t number)
{
    const cji_replay_data key = { .number = number };
    return r->datas && number ? bsearch(&key, r->data, r->datas, sizeof key, by_number) : NULL;
}

const cji_replay_name *cji_recording_name(const cji_recording *r, uint32_t number)
{
    for (size_t i = 0; i < r->names; i++)
        if (r->name[i].number == number) return &r->name[i];
    return NULL;
}

size_t cji_recording_last(const cji_recording *r, uint32_t thread)
{
    size_t low = 0, high = r->threads;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (r->span[middle].thread < thread) low = middle + 1;
        else high = middle;
    }
    return low < r->threads && r->span[low].thread == thread ? r->span[low].last : 0;
}

cji_rec_call cji_recording_call(const cji_replay_item *item)
{
    cji_rec_call call;
    memcpy(&call, item->p, sizeof call);
    return call;
}

const char *cji_recording_call_name(const cji_recording *r, const cji_rec_call *call)
{
    const cji_replay_name *name = cji_recording_name(r, call->name);
    return name ? name->text : "a call without a name";
}

void cji_recording_start(const cji_recording *r, const char *key, int nth, char *out, size_t size)
{
    const size_t k = strlen(key);
    *out = 0;
    for (const char *p = r->start, *end = p + r->start_bytes; p && p < end;) {
        const char *line = memchr(p, '\n', (size_t)(end - p));
        const size_t n = (size_t)((line ? line : end) - p);
        if (n > k && !memcmp(p, key, k) && p[k] == '=' && nth-- == 0) {
            cji_line text = { out, size, 0 };
            for (size_t i = k + 1; i < n; i++) cji_say(&text, "%c", (unsigned char)p[i] < ' ' ? '?' : p[i]);
            return;
        }
        p += n + 1;
    }
}
