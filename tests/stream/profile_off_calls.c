/* Calls that a profile measures, while none is on, over a driver of stubs: what tests/stream/profile_off.sh counts the
 * instructions of.  It is linked with the files that have the hooks, compiled as they are, and without their hooks. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/stub_driver.h"

enum { CALLS = 100 };

/* -- The calls, each from a function of its own -------------------------------------------------------------------- */

typedef struct objects { cj_stream *s, *t; cj_kernel *k; cj_event *e; cj_dptr d; char host[64]; } objects;

#define SITE __attribute__((noinline))
SITE void off_launch(objects *o);
SITE void off_copy(objects *o);
SITE void off_fill(objects *o);
SITE void off_record(objects *o);
SITE void off_wait(objects *o);
SITE void off_join(objects *o);

SITE void off_launch(objects *o) { cj_launch(o->s, o->k, cj_grid(1, 32), o->d, o->d, 2.0f, 7u); }
SITE void off_copy(objects *o) { cj_copy_to_device(o->s, o->d, o->host, sizeof o->host); }
SITE void off_fill(objects *o) { cj_fill32(o->s, o->d, 1, 16); }
SITE void off_record(objects *o) { cj_event_record(o->e, o->t); }
SITE void off_wait(objects *o) { cj_stream_wait(o->s, o->e); }
SITE void off_join(objects *o) { cj_stream_join(o->s, o->t); }

int main(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 .ptr p, .param .u64 .ptr q, .param .f32 a, .param .u32 n)\n{\n ret;\n}\n";
    cj_driver *drv = cj_driver_open_resolver(stub_symbol, NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_module *mod = cj_module_load_text(dev, text, NULL);
    objects o = { .s = cj_stream_create(dev, NULL), .t = cj_stream_create(dev, NULL), .e = cj_event_create(dev, NULL),
                  .k = cj_module_kernel(mod, "k") };
    o.d = cj_alloc(o.s, 4096);
    for (int i = 0; i < CALLS; i++) {
        off_launch(&o);
        off_copy(&o);
        off_fill(&o);
        off_record(&o);
        off_wait(&o);
        off_join(&o);
    }
    const cj_status st = cj_stream_sync(o.s);
    if (st != CJ_OK) fprintf(stderr, "profile_off_calls: %s\n", cj_error_of(o.s)->message);
    cj_free(dev, o.d);
    cj_kernel_free(o.k);
    cj_module_free(mod);
    cj_event_free(o.e);
    cj_stream_free(o.s);
    cj_stream_free(o.t);
    cj_device_close(dev);
    cj_driver_close(drv);
#ifdef __OPTIMIZE__
    printf("optimised\n");
#endif
    return st != CJ_OK;
}
