/* The report as JSON of Chrome's trace format: a process for each device, a thread for each stream. */
#include "stream/profile/stream_profile.h"

void cji_profile_put_json(cji_text *out, const char *s)
{
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') cji_text_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f) cji_text_printf(out, "\\u%04x", c);
        else if (c < 0x80) cji_text_putc(out, (char)c);
        else if ((c & 0xe0) == 0xc0 && c >= 0xc2 && (s[1] & 0xc0) == 0x80) cji_text_put(out, s, 2), s += 1;
        else if (c >= 0xe1 && c <= 0xef && c != 0xed && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80)
            cji_text_put(out, s, 3), s += 2;
        else cji_text_puts(out, "\\ufffd"); /* not UTF-8, or what few names have */
    }
}

/* Time in microseconds from the first record. */
static void trace_time(cji_text *out, const char *key, int64_t ns)
{
    const uint64_t size = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;
    cji_text_printf(out, "\"%s\":%s%llu.%03u", key, ns < 0 ? "-" : "", (unsigned long long)(size / 1000),
                    (unsigned)(size % 1000));
}

static void trace_name(cji_text *out, const char *what, uint32_t pid, size_t tid, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void trace_name(cji_text *out, const char *what, uint32_t pid, size_t tid, const char *format, ...)
{
    char name[128];
    va_list args;
    cji_line line = { name, sizeof name, 0 };
    va_start(args, format);
    cji_text text = { .n = 0 };
    cji_text_vprintf(&text, format, args);
    va_end(args);
    cji_say(&line, "%s", cji_text_str(&text));
    if (text.failed) out->failed = true;
    cji_text_free(&text);
    cji_text_printf(out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%zu,\"args\":{\"name\":\"", what,
                    (unsigned)pid, tid);
    cji_profile_put_json(out, name);
    cji_text_puts(out, "\"}},\n");
}

/* Lanes are numbered as threads from 1. */
static void trace_lanes(const cji_snap *snap, cji_text *out)
{
    bool *used = cji_zalloc((snap->nlanes + 1) * sizeof *used);
    if (!used) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < snap->count; i++) used[snap->lane[i]] = true;
    for (size_t clock = 0; clock < snap->nclocks; clock++)
        if (snap->clocks[clock].number)
            trace_name(out, "process_name", snap->clocks[clock].number, 0, "device %d: %s",
                       (int)snap->clocks[clock].device, snap->clocks[clock].name);
    for (size_t lane = 0; lane < snap->nlanes; lane++)
        if (used[lane] && snap->lanes[lane].stream)
            trace_name(out, "thread_name", snap->clocks[snap->lanes[lane].clock].number, lane + 1,
                       "stream %llu, priority %d", (unsigned long long)snap->lanes[lane].stream,
                       snap->lanes[lane].priority);
    cji_free(used, (snap->nlanes + 1) * sizeof *used);
}

static void trace_record(const cji_snap *snap, size_t i, int64_t zero, cji_text *out)
{
    const cj_profile_record *r = &snap->record[i];
    const uint32_t pid = snap->clocks[snap->lanes[snap->lane[i]].clock].number;
    if (r->kind == CJ_PROFILE_MEMORY) {
        cji_text_printf(out, "{\"ph\":\"C\",\"name\":\"memory\",\"pid\":%u,", (unsigned)pid);
        trace_time(out, "ts", r->start - zero);
        cji_text_printf(out, ",\"args\":{\"bytes\":%llu}},\n", (unsigned long long)r->bytes);
        return;
    }
    cji_text_puts(out, "{\"ph\":\"X\",\"name\":\"");
    cji_profile_put_json(out, r->name);
    cji_text_printf(out, "\",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,", cji_profile_kind_names[r->kind], (unsigned)pid,
                    (unsigned)snap->lane[i] + 1);
    trace_time(out, "ts", r->start - zero);
    cji_text_putc(out, ',');
    trace_time(out, "dur", r->end - r->start);
    cji_text_puts(out, ",\"args\":{");
    trace_time(out, "enqueued", r->submit - zero);
    if (r->bytes) cji_text_printf(out, ",\"bytes\":%llu", (unsigned long long)r->bytes);
    if (r->from) cji_text_printf(out, ",\"from\":%llu", (unsigned long long)r->from);
    cji_text_puts(out, "}},\n");
}

void cji_profile_write_trace(const cji_snap *snap, cji_text *out)
{
    const int64_t zero = snap->count ? snap->record[0].start : 0; /* the earliest */
    cji_text_puts(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    trace_lanes(snap, out);
    for (size_t i = 0; i < snap->count; i++) trace_record(snap, i, zero, out);
    cji_text_printf(out,
                    "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"begin\",\"pid\":0,\"tid\":0,\"ts\":0}\n"
                    "],\"otherData\":{\"begin_ns\":\"%lld\",\"lost\":\"%llu\"}}\n",
                    (long long)zero, (unsigned long long)snap->lost);
}
