/* What a replay says: what a recording is of, its calls as lines, differences. */
#include <stdio.h>
#include <stdlib.h>

#include "driver/interpose/replay_parts.h"

enum { TEXT_DIFFERENCES = 50 }; /* most lines about them */

static void say_list(cji_replay *rp, const char *fmt, va_list list)
{
    char line[CJI_INTERPOSER_TEXT];
    vsnprintf(line, sizeof line, fmt, list);
    if (rp->opts.line) rp->opts.line(rp->opts.user, line);
}

void cji_replay_say(cji_replay *rp, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    say_list(rp, fmt, list);
    va_end(list);
}

void cji_replay_differs(cji_replay *rp, const char *fmt, ...)
{
    va_list list;
    if (rp->said > TEXT_DIFFERENCES) return;
    if (rp->said++ == TEXT_DIFFERENCES) {
        cji_replay_say(rp, "further differences are counted only");
        return;
    }
    va_start(list, fmt);
    say_list(rp, fmt, list);
    va_end(list);
}

void cji_replay_fail(cji_replay *rp, cj_status status, const char *fmt, ...)
{
    va_list list;
    if (rp->status != CJ_OK) return;
    va_start(list, fmt);
    vsnprintf(rp->message, sizeof rp->message, fmt, list);
    va_end(list);
    rp->status = status;
}

/* -- What the file is ---------------------------------------------------------------------------------------------- */

/* Images that a call has: those of links are among the inputs already. */
static void count_images(cji_replay *rp, const cji_replay_item *item, int id)
{
    const unsigned char *p = item->p + sizeof(cji_rec_call), *end = item->p + item->bytes, *bytes;
    unsigned at = 0;
    while (p < end) {
        const cji_rec_arg a = cji_recording_arg(&p, &bytes);
        rp->result.ptx += a.kind == CJI_REC_IMAGE && a.about == CJI_REC_PTX;
        rp->result.foreign += a.kind == CJI_REC_IMAGE && a.about == CJI_REC_FOREIGN;
        if (id != CJI_CU_ID_cuLinkAddData || at++ != 1 || a.kind != CJI_REC_VALUE) continue;
        rp->result.ptx += a.value == CU_JIT_INPUT_PTX;
        rp->result.foreign += a.value == CU_JIT_INPUT_CUBIN;
    }
}

static void count_items(cji_replay *rp)
{
    const cji_recording *rec = rp->rec;
    for (size_t i = 0; i < rec->items; i++) {
        if (rec->item[i].type != CJI_REC_CALL) continue;
        const cji_rec_call call = cji_recording_call(&rec->item[i]);
        const cji_replay_name *name = cji_recording_name(rec, call.name);
        rp->result.calls++;
        if (call.what == CJI_REC_REPEAT && name) count_images(rp, &rec->item[i], name->id);
    }
    rp->result.threads = (uint32_t)rec->threads;
    rp->result.complete = rec->ended;
}

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

void cji_replay_describe(cji_replay *rp)
{
    char cujit[24], driver[24], cuda[24], device[160];
    cji_recording_start(rp->rec, "cujit", 0, cujit, sizeof cujit);
    cji_recording_start(rp->rec, "driver", 0, driver, sizeof driver);
    cji_recording_start(rp->rec, "cuda", 0, cuda, sizeof cuda);
    count_items(rp);
    const long version = strtol(cuda, NULL, 10);
    const cj_replay_result *x = &rp->result;
    cji_replay_say(rp, "recorded by cujit %s, driver %s of CUDA %ld.%ld", cujit, driver, version / 1000,
                   version % 1000 / 10);
    for (int i = 0; i < CJI_REPLAY_DEVICES; i++) {
        cji_recording_start(rp->rec, "device", i, device, sizeof device);
        if (*device) cji_replay_say(rp, "device %s", device);
    }
    cji_replay_say(rp, "%llu call%s on %u thread%s, %llu text%s of PTX, %llu image%s of machine code",
                   (unsigned long long)x->calls, plural(x->calls), (unsigned)x->threads, plural(x->threads),
                   (unsigned long long)x->ptx, plural(x->ptx), (unsigned long long)x->foreign, plural(x->foreign));
    if (x->foreign) cji_replay_say(rp, "machine code needs a device of the architecture that it was recorded on");
    if (rp->rec->cut) cji_replay_say(rp, "the last record is cut: the file was being written, or was not copied whole");
    else if (!x->complete)
        cji_replay_say(rp, "the recording has no end: the program has not closed its driver, or the file could not be "
                           "written any more");
}

/* -- Calls as lines ------------------------------------------------------------------------------------------------ */

static void list_text(cji_line *l, const unsigned char *s, size_t n)
{
    cji_say(l, "\"");
    for (size_t i = 0; i < n && i < 80 && s[i]; i++)
        cji_say(l, "%c", s[i] < ' ' || s[i] >= 0x7f || s[i] == '"' ? '?' : s[i]);
    cji_say(l, n > 80 ? "\"..." : "\"");
}

static void list_number(cji_line *l, uint64_t v, bool hexadecimal)
{
    cji_say(l, v && (hexadecimal || v >> 32) ? "%#llx" : "%llu", (unsigned long long)v);
}

static void list_image(cji_line *l, const cji_rec_arg *a)
{
    static const char *const kinds[CJI_REC_IMAGES] = {
        [CJI_REC_PTX] = "PTX", [CJI_REC_FOREIGN] = "machine code", [CJI_REC_FAT] = "a fat binary"
    };
    if (a->about == CJI_REC_LINKED) cji_say(l, "what link %llu made", (unsigned long long)a->value);
    else
        cji_say(l, "%s, %llu bytes", a->about < CJI_REC_IMAGES && kinds[a->about] ? kinds[a->about] : "an image",
                (unsigned long long)a->room);
}

static void list_argument(cji_line *l, const unsigned char **p, const char *type);

static void list_memory(cji_line *l, const cji_rec_arg *a, const unsigned char *bytes, const unsigned char **p,
                        bool text)
{
    uint64_t v = 0;
    if (a->bytes <= sizeof v) memcpy(&v, bytes, (size_t)a->bytes);
    if (text) list_text(l, bytes, (size_t)a->bytes);
    else if (!a->children && a->bytes && a->bytes <= sizeof v) list_number(l, v, a->about == 1);
    else if (!a->children) cji_say(l, "%llu bytes", (unsigned long long)a->bytes);
    if (text || !a->children) return;
    cji_say(l, "{");
    for (unsigned i = 0; i < a->children; i++) {
        if (i) cji_say(l, ", ");
        list_argument(l, p, "");
    }
    cji_say(l, "}");
}

/* `type`: of the parameter, "" for what is in a struct. */
static void list_argument(cji_line *l, const unsigned char **p, const char *type)
{
    const unsigned char *bytes;
    const cji_rec_arg a = cji_recording_arg(p, &bytes);
    const unsigned long long value = a.value, room = a.room;
    switch (a.kind) {
    case CJI_REC_VALUE: list_number(l, a.value, strchr(type, '*') != NULL); break;
    case CJI_REC_ADDRESS: case CJI_REC_HANDLE: case CJI_REC_HOST: cji_say(l, "%#llx", value); break;
    case CJI_REC_REGION: cji_say(l, "%llu bytes at %#llx", room, value); break;
    case CJI_REC_SOURCE: case CJI_REC_TARGET: cji_say(l, "%llu bytes of the host", room); break;
    case CJI_REC_FUNCTION: cji_say(l, "a function"); break;
    case CJI_REC_IMAGE: list_image(l, &a); break;
    case CJI_REC_LINK: cji_say(l, "-> link %llu", value); break;
    case CJI_REC_SEEN_HANDLES: case CJI_REC_NEW_HANDLES: cji_say(l, "-> %llu handles", room); break;
    case CJI_REC_MEMORY: list_memory(l, &a, bytes, p, !strcmp(type, "const char *")); break;
    default: cji_say(l, "-> %#llx", value); break;
    }
}

static void list_call(cji_replay *rp, const cji_replay_item *item)
{
    char text[CJI_INTERPOSER_TEXT];
    cji_line l = { text, sizeof text, 0 };
    const cji_rec_call call = cji_recording_call(item);
    const cji_replay_name *name = cji_recording_name(rp->rec, call.name);
    const cji_cu_row *row = name && name->id >= 0 ? &cji_cu_rows[name->id] : NULL;
    const char *result = cji_cu_error_name(call.result);
    const unsigned char *p = item->p + sizeof call;
    cji_say(&l, "%8llu %3u  %s(", (unsigned long long)call.number, (unsigned)call.thread,
            cji_recording_call_name(rp->rec, &call));
    for (unsigned i = 0; i < call.args && call.what != CJI_REC_UNKNOWN; i++) {
        const cji_cu_param *param = row && i < row->count ? &row->param[i] : NULL;
        cji_say(&l, "%s%s%s", i ? ", " : "", param ? param->name : "", param ? "=" : "");
        list_argument(&l, &p, param ? param->type : "");
    }
    cji_say(&l, call.what == CJI_REC_UNKNOWN ? "...) = " : ") = ");
    if (result) cji_say(&l, "%s", result);
    else cji_say(&l, "%d", (int)call.result);
    if (call.what == CJI_REC_UNKNOWN) cji_say(&l, "  # not repeated: %s", (const char *)p + sizeof(cji_rec_arg));
    if (!row) cji_say(&l, "  # not repeated: this cujit knows no such entry point");
    cji_replay_say(rp, "%s", text);
    if (call.what == CJI_REC_QUERY || call.what == CJI_REC_FAILED) rp->result.left_out++;
    else if (call.what == CJI_REC_UNKNOWN || !row) rp->result.impossible++;
}

void cji_replay_list(cji_replay *rp)
{
    for (size_t i = 0; i < rp->rec->items; i++) {
        const cji_replay_item *item = &rp->rec->item[i];
        cji_rec_host host;
        if (item->type == CJI_REC_CALL) {
            list_call(rp, item);
            continue;
        }
        memcpy(&host, item->p, sizeof host);
        cji_replay_say(rp, "%8llu      %s %llu bytes of the host at %#llx", (unsigned long long)host.number,
                       item->type == CJI_REC_WRITE ? "reads" : "has written", (unsigned long long)host.bytes,
                       (unsigned long long)host.address);
    }
}
