/* A layer that writes each call to a file: a line of text, or an element of Chrome's trace format. */
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "driver/interpose/driver_interpose.h"

struct trace_layer {
    cji_layer layer;
    cji_trace_file *file;
};

enum { TRACE_LINE = 3600 }; /* longer lines are cut */

/* A string of JSON, cut where the line is full. */
static void put_json_string(cji_line *l, const char *s)
{
    for (; *s && l->n + 64 < l->size; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') cji_say(l, "\\%c", c);
        else if (c < 0x20 || c > 0x7e) cji_say(l, "\\u%04x", c); /* a byte, as Latin-1: strings of calls are cut */
        else cji_say(l, "%c", c);
    }
}

static void trace_json_line(cji_line *l, const cji_layer_call *c, const char *text, const char *launch, CUresult r,
                            uint64_t at, uint64_t took)
{
    cji_say(l, "{\"ph\":\"X\",\"cat\":\"driver\",\"name\":\"%s\",\"pid\":%ld,\"tid\":%ld", c->row->name, (long)getpid(),
            syscall(SYS_gettid));
    cji_say(l, ",\"ts\":%llu.%03u,\"dur\":%llu.%03u", (unsigned long long)(at / 1000), (unsigned)(at % 1000),
            (unsigned long long)(took / 1000), (unsigned)(took % 1000));
    const char *result = cji_cu_error_name((int)r);
    cji_say(l, ",\"args\":{\"number\":%llu,", (unsigned long long)c->number);
    if (result) cji_say(l, "\"result\":\"%s\",\"call\":\"", result);
    else cji_say(l, "\"result\":%d,\"call\":\"", (int)r);
    put_json_string(l, text);
    if (*launch) {
        cji_say(l, "\",\"kernel\":\"");
        put_json_string(l, launch);
    }
    cji_say(l, "\"}}");
}

static void trace_text_line(cji_line *l, const char *text, const char *launch, uint64_t at, uint64_t took)
{
    cji_say(l, "%4llu.%06u %7ld %9.3f  %s", (unsigned long long)(at / 1000000000), (unsigned)(at / 1000 % 1000000),
            syscall(SYS_gettid), (double)took / 1000.0, text);
    if (*launch) cji_say(l, "  # %s", launch);
}

static CUresult trace_call(cji_layer *self, const cji_layer_call *c)
{
    struct trace_layer *trace = (struct trace_layer *)self;
    char text[CJI_INTERPOSER_TEXT], launch[600], room[TRACE_LINE];
    cji_line l = { room, sizeof room, 0 };
    cji_launch_text(launch, sizeof launch, c); /* a kernel that has failed meanwhile has no parameters to ask for */
    const uint64_t begin = cji_now();
    const CUresult r = cji_layer_pass(self, c);
    const uint64_t end = cji_now(), begun = cji_trace_file_begun(trace->file);
    cji_interposer_text(text, sizeof text, c->id, c->value, r);
    if (cji_trace_file_json(trace->file)) trace_json_line(&l, c, text, launch, r, begin - begun, end - begin);
    else trace_text_line(&l, text, launch, begin - begun, end - begin);
    cji_trace_file_add(trace->file, room, l.n);
    return r;
}

static void trace_free(cji_layer *self)
{
    struct trace_layer *trace = (struct trace_layer *)self;
    cji_trace_file_close(trace->file);
    cji_free(trace, sizeof *trace);
}

cji_layer *cji_trace_layer(void *into, const char *path, int *held, const char *call)
{
    int error = 0;
    if (!path || !*path) {
        cji_fail(into, CJ_EINVAL, call, "the trace needs the name of a file");
        return NULL;
    }
    struct trace_layer *trace = cji_zalloc(sizeof *trace);
    if (trace) trace->file = cji_trace_file_open(path, held, &error);
    if (!trace || !trace->file) {
        if (trace && error)
            cji_fail(into, CJ_EINVAL, call, "the trace %s cannot be written: %s", path, strerror(error));
        else
            cji_fail(into, CJ_ENOMEM, call, "no memory for the trace");
        cji_free(trace, sizeof *trace);
        return NULL;
    }
    trace->layer = (cji_layer){ .call = trace_call, .free = trace_free };
    return &trace->layer;
}
