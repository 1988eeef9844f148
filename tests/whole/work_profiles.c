/* A profile of work of all kinds, and its reports.  What a failure keeps from being measured is counted as lost and
 * is no failure of the program. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/whole/work.h"

enum { N = 64 };
static cj_device *dev;
static cj_stream *s, *t;
static cj_dptr d;
static uint64_t sum;

static void work(void)
{
    static uint32_t host[N];
    work_did(cj_profile_begin(s, "upload"));
    work_did(cj_copy_to_device(s, d, host, sizeof host));
    work_did(cj_profile_end(s));
    work_did(cj_profile_mark(t, CJ_PROFILE_KERNEL, "foreign"));
    work_did(cj_profile_end(t));
    work_did(cj_stream_fork(s, t));
    work_did(cj_fill32(t, d, 7, N));
    work_did(cj_copy_to_host(t, host, d, sizeof host));
    if (work_waited(s) && work_waited(t)) sum += host[N - 1] == 7;
}

/* Each of them is made of what was measured: all of it, unless something failed. */
static void reports(cj_profile *p)
{
    static char buffer[128];
    cj_profile_record rec[4];
    cj_profile_total total[4];
    cj_profile_summary all;
    size_t bytes;
    cj_profile_summary_defaults(&all);
    if (work_did(cj_profile_get_summary(p, NULL, &all))) sum += all.operations + all.lost <= 6;
    cj_profile_poll(p, rec, 4);
    cj_profile_totals(p, s, total, 4);
    cj_profile_path(p, rec, 4);
    for (int f = CJ_PROFILE_TEXT; f <= CJ_PROFILE_SVG; f++) cj_profile_report(p, NULL, (cj_profile_format)f, &bytes);
    cj_profile_print(p, s, CJ_PROFILE_TEXT, buffer, sizeof buffer);
    work_made(p);
}

static void file(cj_profile *p)
{
    char name[] = "/tmp/cujit-work-XXXXXX";
    const int fd = mkstemp(name);
    if (fd < 0) return;
    close(fd);
    work_did(cj_profile_write(p, name));
    unlink(name);
}

int main(void)
{
    cj_profile_opts opts;
    cj_profile_defaults(&opts);
    cj_profile *p = cj_profile_create(&opts);
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    t = cj_stream_create(dev, NULL);
    if (work_made(p) && work_made(s) && work_made(t)) {
        work_did(cj_profile_on(p));
        d = cj_alloc(s, 4 * N);
        if (d.addr) {
            work();
            reports(p);
            file(p);
        } else {
            work_made(s);
        }
        work_did(cj_profile_off(p));
        work_did(cj_profile_clear(p));
        work_did(cj_free(dev, d));
        sum += 2;
    }
    cj_stream_free(t);
    cj_stream_free(s);
    cj_profile_free(p);
    cj_device_close(dev);
    cj_driver_close(drv);
    return work_end("profiles", sum);
}
