/* The functions that kernels call and every device provides: vprintf(format, arguments),
 * __assertfail(message, file, line, function, size) and cudaGraphSetConditional(handle, value).
 *
 * vprintf's arguments lie in memory as C promotes them: 4 or 8 bytes each, at multiples of their
 * size. */
#include <stdio.h>

#include "sim/exec/ops_mem.h"

#define PRINT_STRING 1024
/* The most bytes of text that one call makes: a GPU keeps the arguments of all calls in 1 MiB until they are printed
 * (CU_LIMIT_PRINTF_FIFO_SIZE). Width and precision are cut to it too. */
#define PRINT_MOST (1 << 20)

/* A place's value for one lane; as in ext. */
static uint64_t print_value(cji_warp *w, const uint32_t *x, unsigned lane)
{
    uint64_t v = 0;
    if (x[0] & CJI_ARG_REG) return cji_get(w, CJI_ARG_WIDTH(x[0]), x[1], lane);
    memcpy(&v, w->lmem + (size_t)lane * w->lpitch + w->local + x[1], x[0] < 8 ? x[0] : 8);
    return v;
}

/* A NUL-terminated string at a device address, cut to `size`. */
static const char *print_string(cji_warp *w, unsigned lane, uint64_t address, char *room, size_t size)
{
    uint64_t left = 0;
    const unsigned char *p = address ? cji_mem_peek(w, lane, address, &left) : NULL;
    size_t n = 0;
    if (!p) return address ? "(bad address)" : "(null)";
    while (n + 1 < size && n < left && p[n]) room[n] = (char)p[n], n++;
    room[n] = 0;
    return room;
}

static uint64_t print_argument(cji_warp *w, unsigned lane, uint64_t base, uint64_t *at, unsigned bytes)
{
    uint64_t left = 0, v = 0;
    *at = (*at + bytes - 1) / bytes * bytes;
    const unsigned char *p = cji_mem_peek(w, lane, base + *at, &left);
    if (p && left >= bytes) memcpy(&v, p, bytes);
    *at += bytes;
    return v;
}

/* The lane's arguments, taken in turn from where they lie. */
typedef struct print_args { cji_warp *w; unsigned lane; uint64_t base, at; } print_args;

static uint64_t print_next(print_args *a, unsigned bytes)
{
    return print_argument(a->w, a->lane, a->base, &a->at, bytes);
}

/* A width or a precision, in digits or as '*'; -1: there is none, or a negative precision. A negative width sets
 * *left. */
static int print_size(const char **p, print_args *a, bool *left)
{
    int64_t v = -1;
    if (**p == '*') {
        v = (int32_t)(uint32_t)print_next(a, 4);
        ++*p;
        if (v < 0 && left) {
            *left = true;
            v = -v;
        }
    } else {
        for (; **p >= '0' && **p <= '9'; ++*p) v = v > PRINT_MOST ? v : (v < 0 ? 0 : v) * 10 + (**p - '0');
    }
    return v < 0 ? -1 : v > PRINT_MOST ? PRINT_MOST : (int)v;
}

/* Flags, width and precision behind '%', as printf of the host takes them. Returns what is behind them. */
static const char *print_spec(const char *p, print_args *a, char *spec, size_t size)
{
    static const char flags[] = "-+ #0";
    bool has[sizeof flags - 1] = { false };
    size_t n = 1;
    spec[0] = '%';
    for (const char *f; *p && (f = strchr(flags, *p)); p++) has[f - flags] = true;
    int width = print_size(&p, a, &has[0]), precision = -1;
    bool dot = *p == '.';
    if (dot) {
        bool star = *++p == '*';
        precision = print_size(&p, a, NULL);
        if (precision < 0 && !star) precision = 0;
    }
    for (size_t i = 0; flags[i]; i++)
        if (has[i]) spec[n++] = flags[i];
    if (width >= 0) n += (size_t)snprintf(spec + n, size - n, "%d", width);
    if (precision >= 0) n += (size_t)snprintf(spec + n, size - n, ".%d", precision);
    spec[n] = 0;
    return p;
}

/* One conversion: p is behind '%'. Returns its end. */
static const char *print_conversion(print_args *a, const char *p, cji_text *out)
{
    char spec[64], string[PRINT_STRING];
    unsigned bytes = 4;
    p = print_spec(p, a, spec, sizeof spec - 4);
    size_t n = strlen(spec);
    while (*p && strchr("hlLjzt", *p)) {
        if (*p == 'l' || *p == 'L' || *p == 'j' || *p == 'z' || *p == 't') bytes = 8;
        p++;
    }
    char c = *p ? *p++ : 0;
    switch (c) {
    case 'd': case 'i': {
        uint64_t v = print_next(a, bytes);
        snprintf(spec + n, sizeof spec - n, "lld");
        cji_text_printf(out, spec, bytes == 8 ? (long long)v : (long long)(int32_t)(uint32_t)v);
        break;
    }
    case 'u': case 'x': case 'X': case 'o':
        snprintf(spec + n, sizeof spec - n, "ll%c", c);
        cji_text_printf(out, spec, (unsigned long long)print_next(a, bytes));
        break;
    case 'c':
        snprintf(spec + n, sizeof spec - n, "c");
        cji_text_printf(out, spec, (int)print_next(a, 4));
        break;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A': {
        uint64_t u = print_next(a, 8);
        double x;
        memcpy(&x, &u, 8);
        snprintf(spec + n, sizeof spec - n, "%c", c);
        cji_text_printf(out, spec, x);
        break;
    }
    case 's':
        snprintf(spec + n, sizeof spec - n, "s");
        cji_text_printf(out, spec, print_string(a->w, a->lane, print_next(a, 8), string, sizeof string));
        break;
    case 'p': {
        char number[24];
        snprintf(number, sizeof number, "0x%llx", (unsigned long long)print_next(a, 8));
        snprintf(spec + n, sizeof spec - n, "s");
        cji_text_printf(out, spec, number);
        break;
    }
    case '%': cji_text_putc(out, '%'); break;
    default:
        cji_text_puts(out, spec);
        if (c) cji_text_putc(out, c);
        break;
    }
    return p;
}

/* What is behind PRINT_MOST bytes is cut. */
static void print_one(cji_warp *w, const uint32_t *x, unsigned lane, cji_text *out)
{
    char format[PRINT_STRING];
    const char *p = print_string(w, lane, print_value(w, x, lane), format, sizeof format);
    print_args a = { w, lane, print_value(w, x + 2, lane), 0 };
    while (*p && out->n < PRINT_MOST) {
        if (*p != '%') cji_text_putc(out, *p++);
        else p = print_conversion(&a, p + 1, out);
    }
    if (out->n > PRINT_MOST) out->n = PRINT_MOST;
}

static void print_assert(cji_warp *w, const cji_rec *r, const uint32_t *x, uint32_t lanes)
{
    const cji_exec_memory *m = &w->blk->g->l.memory;
    char message[300], file[300], function[200];
    unsigned first = cji_first(lanes);
    const char *what = "", *where = "", *who = "";
    CJI_EACH(i, lanes) {
        char line[1200];
        what = print_string(w, i, print_value(w, x, i), message, sizeof message);
        where = print_string(w, i, print_value(w, x + 2, i), file, sizeof file);
        who = print_string(w, i, print_value(w, x + 6, i), function, sizeof function);
        int n = snprintf(line, sizeof line, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                         where, (unsigned)print_value(w, x + 4, i), who, w->blk->id[0], w->blk->id[1], w->blk->id[2],
                         w->tid[0][i], w->tid[1][i], w->tid[2][i], what);
        if (m->print && n > 0) m->print(m->user, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    }
    cji_fault(w, r, first, CJI_EXEC_FAULT_ASSERT, 0, "fails at %s:%u: `%s`", where,
              (unsigned)print_value(w, x + 4, first), what);
}

/* The lanes in their order: the last one's value stays. */
static void print_condition(cji_warp *w, const cji_rec *r, const uint32_t *x, uint32_t lanes)
{
    const cji_exec_launch *l = &w->blk->g->l;
    CJI_EACH(i, lanes) {
        uint64_t handle = print_value(w, x, i);
        if (l->condition && l->condition(l->memory.user, handle, (uint32_t)print_value(w, x + 2, i))) continue;
        cji_fault(w, r, i, CJI_EXEC_FAULT_ADDRESS, handle,
                  "sets the condition 0x%llx, which is no handle of a graph of this context",
                  (unsigned long long)handle);
        return;
    }
}

void cji_print_call(cji_warp *w, const cji_rec *r, uint32_t lanes, const cji_func *f)
{
    const uint32_t *x = w->p->ext + r->target, *arg = x + 2;
    const cji_exec_memory *m = &w->blk->g->l.memory;
    if (f->builtin == CJI_BUILTIN_ASSERT) {
        print_assert(w, r, arg, lanes);
        return;
    }
    if (f->builtin == CJI_BUILTIN_CONDITION) {
        print_condition(w, r, arg, lanes);
        return;
    }
    CJI_EACH(i, lanes) {
        cji_text out = { 0 };
        print_one(w, arg, i, &out);
        if (m->print && !out.failed) m->print(m->user, cji_text_str(&out), out.n);
        if (x[1]) {
            const uint32_t *to = arg + 2 * x[0];
            uint64_t n = out.n;
            if (to[0] & CJI_ARG_REG) cji_put(w, CJI_ARG_WIDTH(to[0]), to[1], i, n);
            else memcpy(w->lmem + (size_t)i * w->lpitch + w->local + to[1], &n, to[0] < 8 ? to[0] : 8);
        }
        cji_text_free(&out);
    }
}
