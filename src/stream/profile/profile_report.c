/* Reports: as text of the profile, in a buffer of the caller, in a file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/file_signals.h"
#include "base/obj.h"
#include "stream/profile/stream_profile.h"

static cj_status report_make(cj_profile *p, cj_stream *s, int format, cji_text *out, const char *call)
{
    cji_snap snap;
    if (format < CJ_PROFILE_TEXT || format > CJ_PROFILE_SVG) {
        cj_status st = cji_check(p, CJI_TAG_PROFILE, call);
        return st == CJ_OK ? cji_fail(p, CJ_EINVAL, call, "format %d is none of CJ_PROFILE_TEXT, _TRACE, _SVG", format)
                           : st;
    }
    cj_status st = cji_snap_take(p, s, &snap, call);
    if (st != CJ_OK) return st;
    if (format == CJ_PROFILE_TEXT) cji_profile_write_text(&snap, out);
    else if (format == CJ_PROFILE_TRACE) cji_profile_write_trace(&snap, out);
    else cji_profile_write_svg(&snap, out);
    cji_snap_free(&snap);
    return out->failed ? cji_fail(p, CJ_ENOMEM, call, "no memory for the report") : CJ_OK;
}

const char *cj_profile_report(cj_profile *p, cj_stream *s, cj_profile_format format, size_t *bytes)
{
    cji_text text = { .n = 0 };
    const cj_status st = report_make(p, s, (int)format, &text, "cj_profile_report");
    if (bytes) *bytes = 0;
    if (st != CJ_OK || !cji_text_room(&text, 1)) {
        cji_text_free(&text);
        return "";
    }
    pthread_mutex_lock(&p->report_lock);
    cji_text old = p->report;
    p->report = text;
    const char *shown = cji_text_str(&p->report);
    if (bytes) *bytes = p->report.n;
    pthread_mutex_unlock(&p->report_lock);
    cji_text_free(&old);
    return shown;
}

size_t cj_profile_print(cj_profile *p, cj_stream *s, cj_profile_format format, char *buffer, size_t bytes)
{
    static const char call[] = "cj_profile_print";
    cji_text text = { .n = 0 };
    size_t n = 0;
    if (bytes && !buffer) {
        if (cji_check(p, CJI_TAG_PROFILE, call) == CJ_OK)
            cji_fail(p, CJ_EINVAL, call, "a buffer of %zu bytes at NULL", bytes);
        return 0;
    }
    if (bytes) *buffer = 0;
    if (report_make(p, s, (int)format, &text, call) == CJ_OK) {
        n = text.n;
        const size_t fits = !bytes ? 0 : n < bytes ? n : bytes - 1;
        if (fits) memcpy(buffer, text.p, fits);
        if (bytes) buffer[fits] = 0;
    }
    cji_text_free(&text);
    return n;
}

/* -- Files --------------------------------------------------------------------------------------------------------- */

static bool report_ends(const char *file, const char *end)
{
    const size_t n = strlen(file), m = strlen(end);
    return n >= m && !strcmp(file + n - m, end);
}

/* To a file beside it, which then takes its name.  0, or the error. */
static int report_save(const char *file, const char *beside, const cji_text *text)
{
    cji_file_signals held;
    cji_file_signals_hold(&held);
    int error = 0;
    errno = 0;
    FILE *f = fopen(beside, "w");
    if (!f || fwrite(text->p ? text->p : "", 1, text->n, f) != text->n) error = errno ? errno : EIO;
    if (f && fclose(f) && !error) error = errno;
    if (!error && rename(beside, file)) error = errno;
    if (error && f) unlink(beside);
    cji_file_signals_release(&held);
    return error;
}

cj_status cj_profile_write(cj_profile *p, const char *file)
{
    static const char call[] = "cj_profile_write";
    CJI_NO_CANCEL;
    cji_text text = { .n = 0 }, beside = { .n = 0 };
    cj_status st = cji_check(p, CJI_TAG_PROFILE, call);
    if (st != CJ_OK) return st;
    if (!file || !*file) return cji_fail(p, CJ_EINVAL, call, "the file has no name");
    const int format = report_ends(file, ".txt")   ? CJ_PROFILE_TEXT
                       : report_ends(file, ".svg") ? CJ_PROFILE_SVG
                                                   : CJ_PROFILE_TRACE;
    st = report_make(p, NULL, format, &text, call);
    cji_text_printf(&beside, "%s.%ld.new", file, (long)getpid());
    if (st == CJ_OK && beside.failed) st = cji_fail(p, CJ_ENOMEM, call, "no memory for the name of the file");
    const int error = st == CJ_OK ? report_save(file, beside.p, &text) : 0;
    if (error) st = cji_fail(p, CJ_ENOTFOUND, call, "%s cannot be written: %s", cji_short(file), strerror(error));
    cji_text_free(&beside);
    cji_text_free(&text);
    return st;
}
