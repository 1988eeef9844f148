/* What an entry is: a head, the code, the table of kernels, the compiler's log.
 *
 * The table is numbers of 32 bits and then the names, each with its NUL; a name's number is its place among the names.
 *   how many kernels, whether the list is whole, how many parameters all of them have, how many variables
 *   a kernel: its name, its parameters, the dynamic shared variable's name plus 1 (0: none), instructions, memory,
 *   threads
 *   a parameter: its name, offset, bytes, type and, 256 times, whether it is a pointer
 *   a variable: its name, the lower and upper half of its bytes, type and, 256 times, whether it is opaque
 */
#include <errno.h>
#include <string.h>

#include "base/first.h"
#include "driver/cache/disk_cache.h"

enum { TABLE_HEAD = 4, TABLE_KERNEL = 6, TABLE_PARAM = 4, TABLE_VAR = 4 };
static const char disk_magic[8] = { 'c', 'u', 'j', 'i', 't', '\n', 26, '\n' };

static CJI_FIRST cji_hash128 checksum_of(const cji_disk_head *head, const void *rest, size_t bytes)
{
    cji_disk_head blank = *head;
    cji_hasher h;
    blank.checksum = (cji_hash128){ { 0, 0 } };
    cji_hasher_begin(&h);
    cji_hasher_put(&h, &blank, sizeof blank);
    cji_hasher_put(&h, rest, bytes);
    return cji_hasher_end(&h);
}

/* -- From an image ------------------------------------------------------------------------------------------------- */

typedef struct table_writer { cji_text numbers, names; } table_writer;

static void put_number(table_writer *w, uint32_t x) { cji_text_put(&w->numbers, (const char *)&x, sizeof x); }

static uint32_t put_entry_name(table_writer *w, const char *name)
{
    size_t at = w->names.n;
    cji_text_put(&w->names, name, strlen(name) + 1);
    return (uint32_t)at;
}

static void put_kernel(table_writer *w, const cji_entry *e)
{
    put_number(w, put_entry_name(w, e->name));
    put_number(w, e->nparam);
    put_number(w, e->dynamic_shared ? put_entry_name(w, e->dynamic_shared) + 1 : 0);
    put_number(w, e->instructions);
    put_number(w, e->memory);
    put_number(w, e->threads);
}

static void put_entry_var(table_writer *w, const cji_entry_var *v)
{
    put_number(w, put_entry_name(w, v->name));
    put_number(w, (uint32_t)v->bytes);
    put_number(w, (uint32_t)(v->bytes >> 32));
    put_number(w, v->type | (v->opaque ? 256u : 0u));
}

/* Into one text; failed without memory. */
static cji_text table_of(const cji_entries *entries)
{
    table_writer w = { .numbers = { 0 } };
    uint32_t params = 0, n = entries ? (uint32_t)entries->n : 0, vars = entries ? (uint32_t)entries->nvar : 0;
    for (uint32_t i = 0; i < n; i++) params += entries->entry[i].nparam;
    put_number(&w, n);
    put_number(&w, entries && entries->whole);
    put_number(&w, params);
    put_number(&w, vars);
    for (uint32_t i = 0; i < n; i++) put_kernel(&w, &entries->entry[i]);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < entries->entry[i].nparam; k++) {
            const cji_entry_param *p = &entries->entry[i].param[k];
            put_number(&w, put_entry_name(&w, p->name));
            put_number(&w, p->offset);
            put_number(&w, p->bytes);
            put_number(&w, p->type | (p->pointer ? 256u : 0u));
        }
    for (uint32_t i = 0; i < vars; i++) put_entry_var(&w, &entries->var[i]);
    cji_text_put(&w.numbers, w.names.p ? w.names.p : "", w.names.n);
    if (w.names.failed) w.numbers.failed = true;
    cji_text_free(&w.names);
    return w.numbers;
}

unsigned char *cji_disk_encode(cji_hash128 key, const cji_disk_image *image, size_t *bytes)
{
    cji_text table = table_of(image->entries);
    cji_disk_head head = { .format = CJI_DISK_FORMAT,
                           .head_bytes = sizeof head,
                           .key = key,
                           .bytes = sizeof head + image->code_bytes + table.n + image->log_bytes,
                           .code_bytes = image->code_bytes,
                           .table_bytes = table.n,
                           .log_bytes = image->log_bytes,
                           .label = image->label };
    unsigned char *p = table.failed ? NULL : cji_alloc(head.bytes);
    if (p) {
        unsigned char *rest = p + sizeof head;
        memcpy(head.magic, disk_magic, sizeof disk_magic);
        memcpy(rest, image->code, image->code_bytes);
        memcpy(rest + image->code_bytes, table.p, table.n);
        if (image->log_bytes) memcpy(rest + image->code_bytes + table.n, image->log, image->log_bytes);
        head.checksum = checksum_of(&head, rest, head.bytes - sizeof head);
        memcpy(p, &head, sizeof head);
        *bytes = head.bytes;
    }
    cji_text_free(&table);
    return p;
}

/* -- Back to an image ---------------------------------------------------------------------------------------------- */

typedef struct table_reader {
    const unsigned char *number;
    const char *names; /* the copy that the list of kernels keeps */
    size_t name_bytes;
    bool good;
} table_reader;

static uint32_t get_number(const table_reader *r, size_t i)
{
    uint32_t x;
    memcpy(&x, r->number + i * sizeof x, sizeof x);
    return x;
}

static const char *get_name(table_reader *r, uint32_t at)
{
    if (at < r->name_bytes) return r->names + at;
    r->good = false;
    return "";
}

static void get_vars(table_reader *r, cji_entries *e, size_t at)
{
    for (size_t i = 0; i < e->nvar; i++, at += TABLE_VAR) {
        uint32_t kind = get_number(r, at + 3);
        e->var[i] = (cji_entry_var){ .name = get_name(r, get_number(r, at)),
                                     .bytes = get_number(r, at + 1) | (uint64_t)get_number(r, at + 2) << 32,
                                     .type = (uint8_t)(kind & 255),
                                     .opaque = kind >> 8 & 1 };
        if (e->var[i].type >= CJ_TYPE_COUNT) r->good = false;
    }
}

/* The numbers begin with those of the kernels. */
static void get_kernels(table_reader *r, cji_entries *e, cji_entry_param *param, uint32_t params)
{
    uint32_t used = 0;
    size_t at = TABLE_HEAD;
    for (size_t i = 0; i < e->n; i++, at += TABLE_KERNEL) {
        uint32_t n = get_number(r, at + 1), dynamic = get_number(r, at + 2);
        if (n > params - used) {
            r->good = false;
            return;
        }
        e->entry[i] = (cji_entry){ .name = get_name(r, get_number(r, at)),
                                   .param = param + used,
                                   .nparam = n,
                                   .dynamic_shared = dynamic ? get_name(r, dynamic - 1) : NULL,
                                   .instructions = get_number(r, at + 3),
                                   .memory = get_number(r, at + 4),
                                   .threads = get_number(r, at + 5) };
        used += n;
    }
    for (uint32_t i = 0; i < params; i++, at += TABLE_PARAM) {
        uint32_t kind = get_number(r, at + 3);
        param[i] = (cji_entry_param){ .name = get_name(r, get_number(r, at)),
                                      .offset = get_number(r, at + 1),
                                      .bytes = get_number(r, at + 2),
                                      .type = (uint8_t)(kind & 255),
                                      .pointer = kind >> 8 & 1 };
        if (param[i].type >= CJ_TYPE_COUNT) r->good = false;
    }
    get_vars(r, e, at);
}

/* The sizes of a table; false: it is none. */
static bool table_sizes(const unsigned char *table, size_t bytes, uint32_t head[TABLE_HEAD], size_t *numbers)
{
    size_t room = bytes / sizeof(uint32_t);
    if (room < TABLE_HEAD) return false;
    memcpy(head, table, TABLE_HEAD * sizeof *head);
    if (head[0] > room / TABLE_KERNEL || head[2] > room / TABLE_PARAM || head[3] > room / TABLE_VAR) return false;
    *numbers = TABLE_HEAD + (size_t)head[0] * TABLE_KERNEL + (size_t)head[2] * TABLE_PARAM +
               (size_t)head[3] * TABLE_VAR;
    return *numbers <= room;
}

static cji_disk_result entries_from(const unsigned char *table, size_t bytes, cji_entries **out)
{
    uint32_t head[TABLE_HEAD];
    size_t numbers;
    if (!table_sizes(table, bytes, head, &numbers)) return CJI_DISK_BAD;
    table_reader r = { .number = table, .name_bytes = bytes - numbers * sizeof(uint32_t), .good = true };
    if (r.name_bytes && table[bytes - 1]) return CJI_DISK_BAD;
    cji_entries *e = cji_zalloc(sizeof *e);
    if (!e) {
        errno = ENOMEM;
        return CJI_DISK_FAILED;
    }
    atomic_init(&e->refs, 1);
    e->n = head[0];
    e->whole = head[1] != 0;
    e->nvar = head[3];
    e->entry = cji_arena_alloc(&e->arena, (e->n ? e->n : 1) * sizeof *e->entry);
    e->var = cji_arena_alloc(&e->arena, (e->nvar ? e->nvar : 1) * sizeof *e->var);
    cji_entry_param *param = cji_arena_alloc(&e->arena, (head[2] ? head[2] : 1) * sizeof *param);
    char *names = cji_arena_alloc(&e->arena, r.name_bytes ? r.name_bytes : 1);
    cji_disk_result result = e->entry && e->var && param && names ? CJI_DISK_HIT : CJI_DISK_FAILED;
    if (result == CJI_DISK_HIT) {
        memcpy(names, table + numbers * sizeof(uint32_t), r.name_bytes);
        r.names = names;
        get_kernels(&r, e, param, head[2]);
        if (!r.good) result = CJI_DISK_BAD;
    } else {
        errno = ENOMEM;
    }
    if (result == CJI_DISK_HIT) *out = e;
    else cji_entries_release(e);
    return result;
}

static bool head_good(cji_hash128 key, const cji_disk_head *head, size_t rest)
{
    return memcmp(head->magic, disk_magic, sizeof disk_magic) == 0 && head->format == CJI_DISK_FORMAT &&
           head->head_bytes == sizeof *head && cji_hash128_equal(head->key, key) &&
           head->bytes == sizeof *head + (uint64_t)rest && head->code_bytes <= rest &&
           head->table_bytes <= rest - head->code_bytes &&
           head->log_bytes == rest - head->code_bytes - head->table_bytes && head->code_bytes &&
           memchr(head->label.device, 0, sizeof head->label.device) &&
           memchr(head->label.driver, 0, sizeof head->label.driver);
}

CJI_FIRST cji_disk_result cji_disk_decode(cji_hash128 key, const cji_disk_head *head, unsigned char *room, size_t rest,
                                cji_disk_found *found)
{
    cji_entries *entries = NULL;
    if (!head_good(key, head, rest) || !cji_hash128_equal(checksum_of(head, room, rest), head->checksum))
        return CJI_DISK_BAD;
    cji_disk_result result = entries_from(room + head->code_bytes, head->table_bytes, &entries);
    if (result != CJI_DISK_HIT) return result;
    *found = (cji_disk_found){ .room = room,
                               .room_bytes = rest,
                               .code_bytes = head->code_bytes,
                               .log = (const char *)room + head->code_bytes + head->table_bytes,
                               .log_bytes = head->log_bytes,
                               .entries = entries,
                               .label = head->label };
    return CJI_DISK_HIT;
}

void cji_disk_found_free(cji_disk_found *found)
{
    cji_free(found->room, found->room_bytes);
    cji_entries_release(found->entries);
    *found = (cji_disk_found){ .room = NULL };
}
