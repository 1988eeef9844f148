/* A layer that makes calls fail which a text names: "cuMemAlloc:3:2,cuLaunchKernel:every:5". */
#include <stdio.h>
#include <stdlib.h>

#include "driver/interpose/driver_interpose.h"

typedef struct fault_rule {
    bool row[CJI_CU_COUNT];
    bool every;
    uint64_t at; /* the number of the call that fails, or of each so-manyth one */
    CUresult result;
    atomic_uint_fast64_t calls;
} fault_rule;

struct fault_layer {
    cji_layer layer;
    size_t count;
    fault_rule rule[];
};

static CUresult fault_call(cji_layer *self, const cji_layer_call *c)
{
    struct fault_layer *faults = (struct fault_layer *)self;
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < faults->count; i++) {
        fault_rule *f = &faults->rule[i];
        if (!f->row[c->id]) continue;
        const uint64_t n = atomic_fetch_add_explicit(&f->calls, 1, memory_order_relaxed) + 1;
        if (r == CUDA_SUCCESS && (f->every ? n % f->at == 0 : n == f->at)) r = f->result;
    }
    return r == CUDA_SUCCESS ? cji_layer_pass(self, c) : r;
}

static void fault_free(cji_layer *self)
{
    struct fault_layer *faults = (struct fault_layer *)self;
    cji_free(faults, sizeof *faults + faults->count * sizeof *faults->rule);
}

/* -- Reading ------------------------------------------------------------------------------------------------------- */

/* Where a rule is read: the rest of the text, what it is called, who is told. */
typedef struct reading {
    const char *rule; /* the whole rule */
    size_t length;
    const char *what, *call;
    void *into;
} reading;

static bool wrong(const reading *in, const char *why)
{
    cji_fail(in->into, CJ_EINVAL, in->call, "%s: \"%s\" %s", in->what, cji_short_n(in->rule, in->length), why);
    return false;
}

static bool same_word(const char *a, size_t n, const char *word) { return strlen(word) == n && !memcmp(a, word, n); }

/* Marks the rows of that name; false: there is none. */
static bool take_name(fault_rule *f, const char *name, size_t n)
{
    bool found = false;
    for (int i = 0; i < CJI_CU_COUNT; i++) {
        const cji_cu_row *row = &cji_cu_rows[i];
        char api[64];
        cji_cu_api_name(row, api, sizeof api);
        f->row[i] = same_word(name, n, "*") || same_word(name, n, row->name) || same_word(name, n, row->export_name) ||
                    same_word(name, n, api);
        found |= f->row[i];
    }
    return found;
}

static bool take_number(const char *p, size_t n, uint64_t most, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || v > most / 10) return false;
        v = v * 10 + (uint64_t)(p[i] - '0');
    }
    *out = v;
    return n && v && v <= most;
}

static bool take_result(const char *p, size_t n, CUresult *out)
{
    uint64_t code;
    if (take_number(p, n, 9999, &code)) return *out = (CUresult)code, true;
    for (int i = 1; i < 1000; i++) {
        const char *name = cji_cu_error_name(i);
        if (name && same_word(p, n, name)) return *out = (CUresult)i, true;
    }
    return false;
}

static bool take_rule(fault_rule *f, const reading *in)
{
    const char *part[5];
    size_t length[5], parts = 0;
    for (size_t at = 0; at <= in->length && parts < 5;) {
        size_t n = 0;
        while (at + n < in->length && in->rule[at + n] != ':') n++;
        part[parts] = in->rule + at, length[parts++] = n;
        at += n + 1;
    }
    f->result = CUDA_ERROR_UNKNOWN;
    f->every = parts > 1 && same_word(part[1], length[1], "every");
    const size_t number = f->every ? 2 : 1;
    if (!take_name(f, part[0], length[0]))
        return wrong(in, "names no driver call that cujit makes; write cuMemAlloc:3, or *:3 for the third call of any "
                         "name");
    if (parts <= number)
        return wrong(in, "does not say which call fails; write cuMemAlloc:3 for the third one, or cuMemAlloc:every:3");
    if (!take_number(part[number], length[number], UINT64_MAX / 16, &f->at))
        return wrong(in, "has no number of a call from 1 on; write cuMemAlloc:3 for the third one, or "
                         "cuMemAlloc:every:3");
    if (parts > number + 1 && !take_result(part[number + 1], length[number + 1], &f->result))
        return wrong(in, "has no CUresult at its end; write a number from 1 on as in cuMemAlloc:3:2, or its name "
                         "as in cuMemAlloc:3:CUDA_ERROR_OUT_OF_MEMORY");
    return parts <= number + 2 || wrong(in, "has more behind its CUresult; rules are separated by commas");
}

/* The next rule of the text, without blanks around it; false at the end. */
static bool next_rule(const char **text, reading *in)
{
    const char *p = *text;
    if (!p) return false;
    const size_t n = strcspn(p, ",");
    *text = p[n] ? p + n + 1 : NULL;
    in->rule = p + strspn(p, " ");
    in->length = n > (size_t)(in->rule - p) ? n - (size_t)(in->rule - p) : 0;
    while (in->length && in->rule[in->length - 1] == ' ') in->length--;
    return true;
}

cji_layer *cji_fault_layer(void *into, const char *text, const char *what, const char *call)
{
    reading in = { .what = what, .call = call, .into = into };
    const char *at = text;
    size_t count = 0;
    if (!text) {
        cji_fail(into, CJ_EINVAL, call, "%s is NULL; write cuMemAlloc:3", what);
        return NULL;
    }
    while (next_rule(&at, &in)) count++;
    struct fault_layer *faults = cji_zalloc(sizeof *faults + count * sizeof *faults->rule);
    if (!faults) {
        cji_fail(into, CJ_ENOMEM, call, "no memory for %zu faults", count);
        return NULL;
    }
    faults->count = count;
    faults->layer = (cji_layer){ .call = fault_call, .free = fault_free };
    at = text;
    for (size_t i = 0; next_rule(&at, &in); i++)
        if (!take_rule(&faults->rule[i], &in)) {
            fault_free(&faults->layer);
            return NULL;
        }
    return &faults->layer;
}
