/* The allocator hook serves everything and is fixed by the first object; without memory a constructor gives a failed
 * object; the log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/obj.h"
#include "tests/tap.h"

static size_t live, calls;
static bool dry;

static void *counting(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    calls++;
    if (size && dry) return NULL;
    live = live - (p ? old : 0) + size;
    if (!size) return free(p), NULL;
    return realloc(p, size);
}

static char logged[256];
static void log_line(void *user, cj_log_level level, const char *line)
{
    (void)user;
    (void)level;
    strncpy(logged, line, sizeof logged - 1);
}

static void memory_is_accounted_for(void)
{
    cji_text t = { 0 };
    for (int i = 0; i < 500; i++) cji_text_printf(&t, "%d,", i);
    tap_ok(calls > 0 && live > 1000, "text grows through the hook");
    tap_ok(!strncmp(cji_text_str(&t), "0,1,2,", 6) && t.n == 1890, "and holds what was put");
    cji_text_free(&t);
    cji_arena a = { 0 };
    for (int i = 0; i < 300; i++) {
        unsigned char *p = cji_arena_alloc(&a, (size_t)i * 7 % 3000);
        if ((uintptr_t)p % 16 || (i && p[0])) tap_fail("arena block %d is aligned and zeroed", i);
        if (i) memset(p, 255, (size_t)i * 7 % 3000);
    }
    cji_arena_free(&a);
    cji_map m = { 0 };
    char key[16];
    for (int i = 0; i < 1000; i++) {
        size_t n = (size_t)sprintf(key, "key%d", i % 500);
        if (cji_map_intern(&m, key, n) != (uint32_t)(i % 500)) tap_fail("key %d has its number", i);
    }
    tap_is_int(cji_map_find(&m, "key77", 5), 77, "a map numbers its keys in order");
    tap_is_uint(cji_map_find(&m, "nokey", 5), CJI_MAP_NONE, "and knows what it does not hold");
    cji_map_free(&m);
    tap_is_uint(live, 0, "everything went back, with its size");
}

static void memory_runs_out(void)
{
    cji_text t = { 0 };
    cji_map m = { 0 };
    cji_arena a = { 0 };
    cji_text_puts(&t, "short");
    dry = true;
    for (int i = 0; i < 100; i++) cji_text_puts(&t, "some more text");
    tap_ok(t.failed, "text remembers that it was cut");
    tap_is_str(cji_text_str(&t), "", "and gives nothing half");
    tap_is_uint(cji_map_intern(&m, "k", 1), CJI_MAP_NONE, "a map says so");
    tap_ok(!cji_arena_alloc(&a, 10), "an arena too");
    cji_obj *o = cji_obj_new(sizeof *o, CJI_TAG_KERNEL, 0, "cj_kernel_load");
    tap_ok(o && cji_obj_failed(o), "a constructor gives a failed object");
    tap_is_int(cji_check(o, CJI_TAG_KERNEL, "cj_launch"), CJ_ENOMEM, "that fails with CJ_ENOMEM wherever it is used");
    tap_has_str(cj_error_of(o)->message, "cj_kernel", "its record names the type");
    tap_ok(!cji_check_free(o, CJI_TAG_KERNEL, "cj_kernel_free"), "and releasing it is fine and nothing");
    dry = false;
    cji_text_free(&t);
    cji_map_free(&m);
    cji_arena_free(&a);
    tap_is_uint(live, 0, "nothing is lost on the way");
}

static void log_lines_can_be_pulled(void)
{
    char line[64], small[6];
    while (cj_log_read(line, sizeof line)) {}
    cji_log(CJ_LOG_WARNING, "one %d", 1);
    tap_is_str(logged, "one 1", "the hook gets the line");
    tap_is_int(cj_log_read(small, sizeof small), CJ_LOG_WARNING, "a line is read with its level");
    tap_is_str(small, "one 1", "and its text");
    tap_is_int(cj_log_read(line, sizeof line), 0, "once");
    for (int i = 0; i < 100; i++) cji_log(CJ_LOG_INFO, "line %d", i);
    cj_log_read(line, sizeof line);
    tap_is_str(line, "line 36", "the last 64 are kept");
    while (cj_log_read(line, sizeof line)) {}
    tap_is_str(line, "line 99", "up to the newest");
    cji_log(CJ_LOG_INFO, "a longer line");
    cj_log_read(small, sizeof small);
    tap_is_str(small, "a lon", "a small buffer cuts");
    tap_is_int(cj_log_read(NULL, 0), 0, "and none reads nothing");
}

int main(void)
{
    tap_plan(0);
    tap_is_int(cj_set_allocator(counting, NULL), CJ_OK, "the allocator is set before the first object");
    tap_is_int(cj_set_log(log_line, NULL), CJ_OK, "and the log");
    memory_is_accounted_for();
    log_lines_can_be_pulled();
    memory_runs_out();
    tap_is_int(cj_set_allocator(NULL, NULL), CJ_EBUSY, "after it the allocator stays");
    tap_is_int(cj_set_log(NULL, NULL), CJ_EBUSY, "and the log");
    tap_ok(!strcmp(cj_version(), "0.1.0"), "the version is a plain text");
    return tap_done();
}
