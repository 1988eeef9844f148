/* The example of pipelines over a real file: the file is encrypted and decrypted again, and each time the timeline is
 * written, as a trace that is JSON and as a picture that is XML.  Each chunk is in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/stream/profile_texts.h"
#include "tests/tap.h"
#include "tests/tap_folder.h"
#include "tests/tap_run.h"

enum { BYTES = 100001, CHUNKS = 4 }; /* of 32 KiB */

static const char *folder;
static const char *const names[] = { "plain", "secret", "back", "trace.json", "picture.svg" };
enum { PLAIN, SECRET, BACK, TRACE, PICTURE, FILES };
static char path[FILES][240];

static char *contents(int file, size_t *bytes)
{
    enum { ROOM = 1 << 20 };
    char *text = malloc(ROOM);
    FILE *f = fopen(path[file], "rb");
    *bytes = f && text ? fread(text, 1, ROOM - 1, f) : 0;
    if (text) text[*bytes] = 0;
    if (f) fclose(f);
    return text;
}

static unsigned times(const char *text, const char *word)
{
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, word)); p++) n++;
    return n;
}

static void passes(int in, int out, int timeline)
{
    const char *argv[] = { tap_build("examples/pipeline_file"), "7", path[in], path[out], path[timeline], NULL };
    tap_result r;
    tap_run(&r, argv, NULL);
    tap_is_int(r.status, 0, "%s becomes %s: %s", names[in], names[out], r.err);
    tap_has_str(r.err, "efficiency", "... with a report");
    tap_result_free(&r);
}

static void files_are_right(const char *plain)
{
    size_t n, m;
    char *secret = contents(SECRET, &n), *back = contents(BACK, &m);
    unsigned same = 0;
    for (size_t i = 0; i < n && i < BYTES; i++) same += secret[i] == plain[i];
    tap_ok(n == BYTES && same < BYTES / 16, "the file is encrypted: %u bytes are the same", same);
    tap_ok(m == BYTES && !memcmp(back, plain, BYTES), "and decrypted again");
    free(secret);
    free(back);
}

static void timelines_are_right(void)
{
    size_t n;
    char *trace = contents(TRACE, &n), *picture = contents(PICTURE, &n);
    const char *rest = profile_json_end(trace);
    tap_is_str(rest ? rest : "no JSON", "\n", "the trace is one JSON value");
    tap_is_uint(times(trace, "\"cat\":\"copy to device\""), CHUNKS, "... with the upload of each chunk");
    tap_is_uint(times(trace, "\"name\":\"encrypt\""), CHUNKS, "... its kernel");
    tap_is_uint(times(trace, "\"cat\":\"copy to host\""), CHUNKS, "... and its download");
    tap_has_str(picture, "<svg ", "the picture is one");
    tap_ok(profile_xml_is_closed(picture), "... and its tags are closed");
    tap_has_str(picture, "encrypt", "... with the kernel");
    free(trace);
    free(picture);
}

int main(void)
{
    static char plain[BYTES];
    tap_need_device(1);
    tap_plan(0);
    folder = tap_folder("pipeline");
    for (int i = 0; i < FILES; i++) snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
    for (int i = 0; i < BYTES; i++) plain[i] = (char)(i * 7 + i / 256);
    FILE *f = fopen(path[PLAIN], "wb");
    if (!f || fwrite(plain, 1, BYTES, f) != BYTES || fclose(f)) tap_bail("the file cannot be written");
    passes(PLAIN, SECRET, TRACE);
    passes(SECRET, BACK, PICTURE);
    files_are_right(plain);
    timelines_are_right();
    return tap_done();
}
