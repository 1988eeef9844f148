/* A program for tests/tools/profile.sh: N fills and a copy on one stream.  It exits with N.
 * usage: makes_streams N [unfinished | unclosed] */
#include <cujit/cujit.h>

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    static char host[4096];
    const int n = argc > 1 ? atoi(argv[1]) : 0;
    const char *how = argc > 2 ? argv[2] : "";
    cj_driver *drv = cj_driver_open("sim");
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr d = cj_alloc(s, sizeof host);
    for (int i = 0; i < n; i++) cj_fill8(s, d, (uint8_t)i, sizeof host);
    if (!*how) cj_copy_to_host(s, host, d, sizeof host);
    if (!*how && cj_stream_sync(s) != CJ_OK) return 100;
    cj_free(dev, d);
    if (!strcmp(how, "unclosed")) return n;
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return n;
}
