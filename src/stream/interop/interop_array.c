/* __cuda_array_interface__, version 3, as text: what Python's repr() and json write of the dictionary.
 * https://nvidia.github.io/numba-cuda/user/cuda_array_interface.html */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "stream/interop/stream_interop.h"
#include "stream/memory/stream_memory.h"

/* -- Reading ------------------------------------------------------------------------------------------------------- */

enum { ARRAY_DEPTH = 16, ARRAY_NAME = 32 };

/* What the dictionary says. */
typedef struct array_dict {
    int64_t shape[CJI_TENSOR_DIMS], strides[CJI_TENSOR_DIMS], stream, version;
    int32_t ndim, nstrides;
    uint64_t data;
    char typestr[ARRAY_NAME];
    bool has_shape, has_strides, has_data, has_typestr, has_mask, read_only;
} array_dict;

typedef struct array_reader { const char *p; } array_reader;

static char array_next(array_reader *r)
{
    while (isspace((unsigned char)*r->p)) r->p++;
    return *r->p;
}

static bool array_takes(array_reader *r, char c)
{
    if (array_next(r) != c) return false;
    r->p++;
    return true;
}

/* None, True, false and so on. */
static bool array_word(array_reader *r, const char *python, const char *json)
{
    const char *words[] = { python, json };
    array_next(r);
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(words[i]);
        if (strncmp(r->p, words[i], n) || isalnum((unsigned char)r->p[n]) || r->p[n] == '_') continue;
        r->p += n;
        return true;
    }
    return false;
}

static bool array_none(array_reader *r) { return array_word(r, "None", "null"); }

/* A text without escapes that matter here; what is too long is cut. */
static bool array_text(array_reader *r, char *out, size_t size)
{
    const char quote = array_next(r);
    size_t n = 0;
    if (quote != '\'' && quote != '"') return false;
    for (r->p++; *r->p && *r->p != quote; r->p++) {
        if (*r->p == '\\' && r->p[1]) r->p++;
        if (n + 1 < size) out[n++] = *r->p;
    }
    if (size) out[n] = 0;
    if (!*r->p) return false;
    r->p++;
    return true;
}

/* An integer of 64 bits; *negative with its absolute value. */
static bool array_number(array_reader *r, uint64_t *out, bool *negative)
{
    *negative = array_next(r) == '-';
    if (*negative) r->p++;
    if (!isdigit((unsigned char)*r->p)) return false;
    for (*out = 0; isdigit((unsigned char)*r->p); r->p++)
        if (__builtin_mul_overflow(*out, 10u, out) || __builtin_add_overflow(*out, (uint64_t)(*r->p - '0'), out))
            return false;
    return *r->p != '.' && *r->p != 'e' && *r->p != 'E';
}

static bool array_integer(array_reader *r, int64_t *out)
{
    uint64_t value;
    bool negative;
    if (!array_number(r, &value, &negative) || value > INT64_MAX) return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* ( or [, and what closes it; 0: neither. */
static char array_open(array_reader *r) { return array_takes(r, '(') ? ')' : array_takes(r, '[') ? ']' : 0; }

static bool array_list(array_reader *r, int64_t *out, int32_t *n)
{
    const char end = array_open(r);
    for (*n = 0; end && !array_takes(r, end);) {
        if (*n == CJI_TENSOR_DIMS || !array_integer(r, &out[*n])) return false;
        ++*n;
        if (!array_takes(r, ',') && array_next(r) != end) return false;
    }
    return end != 0;
}

static bool array_skip(array_reader *r, int depth)
{
    const char c = array_next(r);
    if (c == '\'' || c == '"') return array_text(r, NULL, 0);
    if (c != '(' && c != '[' && c != '{') {
        const char *begin = r->p;
        while (isalnum((unsigned char)*r->p) || (*r->p && strchr("+-._", *r->p))) r->p++;
        return r->p != begin;
    }
    const char end = c == '(' ? ')' : c == '[' ? ']' : '}';
    if (depth == ARRAY_DEPTH) return false;
    for (r->p++; !array_takes(r, end);) {
        if (!array_skip(r, depth + 1)) return false;
        if (end == '}' && !(array_takes(r, ':') && array_skip(r, depth + 1))) return false;
        if (!array_takes(r, ',') && array_next(r) != end) return false;
    }
    return true;
}

static bool array_data(array_reader *r, array_dict *d)
{
    const char end = array_open(r);
    bool negative;
    if (!end || !array_number(r, &d->data, &negative) || negative || !array_takes(r, ',')) return false;
    d->read_only = array_word(r, "True", "true");
    if (!d->read_only && !array_word(r, "False", "false")) return false;
    array_takes(r, ',');
    d->has_data = true;
    return array_takes(r, end);
}

static bool array_entry(array_reader *r, array_dict *d, const char *key)
{
    if (!strcmp(key, "shape")) return d->has_shape = array_list(r, d->shape, &d->ndim);
    if (!strcmp(key, "data")) return array_data(r, d);
    if (!strcmp(key, "typestr")) return d->has_typestr = array_text(r, d->typestr, sizeof d->typestr);
    if (!strcmp(key, "version")) return array_integer(r, &d->version);
    if (array_none(r)) return true;
    if (!strcmp(key, "strides")) return d->has_strides = array_list(r, d->strides, &d->nstrides);
    if (!strcmp(key, "stream")) return array_integer(r, &d->stream);
    if (!strcmp(key, "mask")) d->has_mask = true;
    return array_skip(r, 0);
}

/* NULL; else what is wrong with the text at r->p. */
static const char *array_read_all(array_reader *r, array_dict *d)
{
    char key[ARRAY_NAME];
    if (!array_takes(r, '{')) return "a dictionary begins with {";
    while (!array_takes(r, '}')) {
        if (!array_text(r, key, sizeof key) || !array_takes(r, ':')) return "a key and a colon are expected";
        if (!array_entry(r, d, key)) return "the value is not the one of the protocol";
        if (!array_takes(r, ',') && array_next(r) != '}') return "a comma or } is expected";
    }
    if (array_next(r)) return "there is more behind the dictionary";
    return d->has_shape && d->has_typestr && d->has_data ? NULL : "shape, typestr and data are required";
}

/* -- Types --------------------------------------------------------------------------------------------------------- */

static const struct dict_letter { char letter; uint8_t code; } dict_letters[] = {
    { 'b', CJ_TENSOR_BOOL },  { 'i', CJ_TENSOR_INT },     { 'u', CJ_TENSOR_UINT },
    { 'f', CJ_TENSOR_FLOAT }, { 'c', CJ_TENSOR_COMPLEX },
};

/* "<f4"; CJ_OK with the type and the bytes of an element. */
static cj_status array_type(void *into, const char *text, cj_tensor_type *type, uint32_t *item, const char *call)
{
    uint32_t bytes = 0;
    const char *digits = text[0] ? text + 2 : text;
    for (const char *p = digits; *text && text[1] && isdigit((unsigned char)*p) && bytes < 100; p++)
        bytes = bytes * 10 + (uint32_t)(*p - '0');
    for (size_t i = 0; bytes && bytes <= 16 && i < sizeof dict_letters / sizeof *dict_letters; i++) {
        if (text[1] != dict_letters[i].letter) continue;
        if (text[0] == '>' && bytes > 1)
            return cji_fail(into, CJ_ENOTSUP, call, "the elements are big-endian: \"%s\"", text);
        *type = (cj_tensor_type){ .code = dict_letters[i].code, .bits = (uint8_t)(8 * bytes), .lanes = 1 };
        *item = bytes;
        return CJ_OK;
    }
    return cji_fail(into, CJ_ENOTSUP, call, "elements of \"%s\" are no numbers that this library knows", text);
}

/* -- In ------------------------------------------------------------------------------------------------------------ */

/* Strides in bytes become strides in elements. */
static cj_status array_strides(void *into, array_dict *d, uint32_t item, const char *call)
{
    if (!d->has_strides) return CJ_OK;
    if (d->nstrides != d->ndim)
        return cji_fail(into, CJ_EINVAL, call, "there are %d strides for %d dimensions", d->nstrides, d->ndim);
    for (int32_t i = 0; i < d->ndim; i++) {
        if (d->strides[i] % (int64_t)item)
            return cji_fail(into, CJ_EINVAL, call, "the stride of %lld bytes is no multiple of an element, %u",
                            (long long)d->strides[i], item);
        d->strides[i] /= (int64_t)item;
    }
    return CJ_OK;
}

static cj_status array_dict_check(array_dict *d, const char *text, cj_tensor_info *info, const char *call)
{
    array_reader r = { text };
    uint32_t item = 0;
    const char *wrong = array_read_all(&r, d);
    if (wrong)
        return cji_fail(NULL, CJ_EINVAL, call, "%s: %s, at character %zu: %.20s", "the text is no dictionary of the "
                        "protocol", wrong, (size_t)(r.p - text), r.p);
    if (d->version && d->version < 2)
        return cji_fail(NULL, CJ_ENOTSUP, call, "version %lld of the protocol has no order of streams; 2 and newer are "
                        "read", (long long)d->version);
    if (d->has_mask) return cji_fail(NULL, CJ_ENOTSUP, call, "the array has a mask");
    if (!d->stream)
        return cji_fail(NULL, CJ_EINVAL, call, "the stream is 0, which the protocol does not allow: it could mean two");
    cj_status st = array_type(NULL, d->typestr, &info->type, &item, call);
    return st == CJ_OK ? array_strides(NULL, d, item, call) : st;
}

/* The protocol does not say where the memory is: the driver does. */
static cj_status array_place(cj_device *dev, uint64_t addr, cj_tensor_info *info, const char *call)
{
    cj_mem_info m = { .size = sizeof m };
    bool known = false;
    cj_status st = CJ_OK;
    if (addr) st = cji_mem_info_find(NULL, dev, addr, &m, &known, call);
    if (known && m.kind == CJ_MEM_KIND_HOST) info->place = CJ_TENSOR_CUDA_HOST;
    if (known && m.kind == CJ_MEM_KIND_MANAGED) info->place = CJ_TENSOR_CUDA_MANAGED;
    return st;
}

cj_tensor *cj_tensor_from_array_interface(cj_device *dev, const char *text)
{
    static const char call[] = "cj_tensor_from_array_interface";
    array_dict d = { .stream = -1 };
    cj_tensor_info info = { .size = sizeof info, .place = CJ_TENSOR_CUDA };
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st == CJ_OK && !text) st = cji_fail(NULL, CJ_EINVAL, call, "text is NULL");
    if (st == CJ_OK) st = array_dict_check(&d, text, &info, call);
    if (st == CJ_OK) st = array_place(dev, d.data, &info, call);
    if (st != CJ_OK) return cji_tensor_failed(st, call, NULL);
    info.data = (cj_dptr){ d.data };
    info.ndim = d.ndim;
    info.shape = d.shape;
    info.strides = d.has_strides ? d.strides : NULL;
    info.read_only = d.read_only;
    info.stream = d.stream;
    return cji_tensor_make(dev, &info, NULL, NULL, call);
}

/* -- Out ----------------------------------------------------------------------------------------------------------- */

/* The letter of a type; what the protocol lacks is an unsigned integer of its size. */
static char array_letter(const cj_tensor_type *type)
{
    for (size_t i = 0; i < sizeof dict_letters / sizeof *dict_letters; i++)
        if (dict_letters[i].code == type->code) return dict_letters[i].letter;
    return 'u';
}

/* Appends, and counts what would have been written. */
static size_t array_put(cji_line *l, size_t length, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static size_t array_put(cji_line *l, size_t length, const char *fmt, ...)
{
    char part[96];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(part, sizeof part, fmt, args);
    va_end(args);
    cji_say(l, "%s", part);
    return length + (size_t)n;
}

static size_t array_put_list(cji_line *l, size_t n, const char *key, const int64_t *list, int32_t count,
                             int64_t by)
{
    n = array_put(l, n, ", \"%s\": [", key);
    for (int32_t i = 0; i < count; i++)
        n = array_put(l, n, "%s%lld", i ? ", " : "", (long long)((uint64_t)list[i] * (uint64_t)by));
    return array_put(l, n, "]");
}

size_t cj_tensor_to_array_interface(cj_tensor *t, char *text, size_t size)
{
    static const char call[] = "cj_tensor_to_array_interface";
    if (cji_check(t, CJI_TAG_TENSOR, call) != CJ_OK) return 0;
    const cj_tensor_info *x = &t->info;
    const int64_t item = (int64_t)cji_tensor_item(x);
    if (!item || x->type.lanes != 1) {
        cji_fail(t, CJ_ENOTSUP, call, "elements of %d bits and %d lanes have no type in the protocol", x->type.bits,
                 x->type.lanes);
        return 0;
    }
    if (size) *text = 0;
    cji_line l = { text, size, 0 };
    size_t n = array_put(&l, 0, "{\"version\": 3, \"typestr\": \"%c%c%lld\", \"data\": [%llu, %s]",
                         item > 1 ? '<' : '|', array_letter(&x->type), (long long)item,
                         (unsigned long long)x->data.addr, x->read_only ? "true" : "false");
    n = array_put_list(&l, n, "shape", x->shape, x->ndim, 1);
    if (x->contiguous) n = array_put(&l, n, ", \"strides\": null");
    else n = array_put_list(&l, n, "strides", x->strides, x->ndim, item);
    if (x->stream > 0) return array_put(&l, n, ", \"stream\": %lld}", (long long)x->stream);
    return array_put(&l, n, ", \"stream\": null}");
}
