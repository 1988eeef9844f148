/* Who writes a trace that the environment asks for: the first line, or the first element, names the process.  A process
 * that has replaced its program by another one (exec) has the same number and was started at the same time, so the
 * trace of the new program goes on where that of the old one ends. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver/interpose/driver_interpose.h"

static const char owner_text[] = "# process %ld, started %" SCNu64 ", clock %" SCNu64;
static const char owner_json[] =
    "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%ld,\"args\":{\"started\":%" SCNu64 ",\"clock\":%" SCNu64;

/* When the process was started, in ticks since the system was: field 22 of its status.  0: not known. */
static uint64_t owner_started(void)
{
    char text[1024];
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *p = strrchr(text, ')'); /* the program's name has blanks and parentheses */
    for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

void cji_trace_owner(cji_line *l, bool json, uint64_t begun)
{
    char program[512];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = 0;
    const long pid = (long)getpid();
    const uint64_t started = owner_started();
    if (json)
        cji_say(l, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%ld,\"args\":{\"started\":%" PRIu64
                   ",\"clock\":%" PRIu64 ",\"name\":\"", pid, started, begun);
    else cji_say(l, "# process %ld, started %" PRIu64 ", clock %" PRIu64 ": ", pid, started, begun);
    for (const char *p = program; *p; p++) {
        const bool plain = (unsigned char)*p >= ' ' && *p != 0x7f && !(json && (*p == '"' || *p == '\\'));
        cji_say(l, "%c", plain ? *p : '?');
    }
    if (json) cji_say(l, "\"}}");
}

bool cji_trace_owned(int fd, bool json, uint64_t *begun)
{
    char text[512];
    long pid = 0;
    uint64_t started = 0, clock = 0;
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    if (sscanf(text, json ? owner_json : owner_text, &pid, &started, &clock) != 3) return false;
    if (pid != (long)getpid() || !started || started != owner_started()) return false;
    *begun = clock;
    return true;
}
