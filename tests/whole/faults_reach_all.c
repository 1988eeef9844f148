/* Each public function that can reach a device is called by a program whose allocations and driver calls are made to
 * fail (tests/whole/local.mk names those), or stands in a list with the reason why not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

/* Of ptx.h those of whole modules: what builds a function leaves its failure in the module (tests/ptx). */
static const struct { const char *file, *prefix; } headers[] = {
    { "include/cujit/driver.h", "cj_" },
    { "include/cujit/memory.h", "cj_" },
    { "include/cujit/memory_pool.h", "cj_" },
    { "include/cujit/virtual_memory.h", "cj_" },
    { "include/cujit/launch.h", "cj_" },
    { "include/cujit/stream.h", "cj_" },
    { "include/cujit/copy.h", "cj_" },
    { "include/cujit/stream_barrier.h", "cj_" },
    { "include/cujit/capture.h", "cj_" },
    { "include/cujit/graph.h", "cj_" },
    { "include/cujit/graph_exec.h", "cj_" },
    { "include/cujit/kernel_cache.h", "cj_" },
    { "include/cujit/pool.h", "cj_" },
    { "include/cujit/waiter.h", "cj_" },
    { "include/cujit/profile.h", "cj_" },
    { "include/cujit/parse.h", "cj_" },
    { "include/cujit/ptx.h", "cj_ptx_" },
    { "include/cujit/coordinate.h", "cj_" },
    { "include/cujit/pipeline.h", "cj_" },
    { "include/cujit/linker.h", "cj_" },
    { "include/cujit/compiler.h", "cj_" },
    { "include/cujit/texture.h", "cj_" },
    { "include/cujit/tensor_map.h", "cj_" },
    { "include/cujit/interop.h", "cj_" },
    { "include/cujit/interpose.h", "cj_" },
    { "include/cujit/replay.h", "cj_" },
};

/* Called through a macro of another name, or not to be called. */
static const struct { const char *name, *by, *why; } others[] = {
    { "cj_launch_n", "cj_launch", "the macro calls it" },
    { "cj_launch_name_n", "cj_launch_name", "the macro calls it" },
    { "cj_prepare_n", "cj_prepare", "the macro calls it" },
    { "cj_prepared_set_n", "cj_prepared_set", "the macro calls it" },
    { "cj_graph_kernel_n", "cj_graph_kernel", "the macro calls it" },
    { "cj_graph_exec_set_kernel_n", "cj_graph_exec_set_args", "the macro calls it" },
    { "cj_device_reset", NULL, "ends what others hold; tests/driver/device_resets lets each of its calls fail" },
    { "cj_driver_open_resolver", NULL, "opens what the caller hands in; tests/driver/driver_failures lets it fail" },
    { "cj_driver_kind", NULL, "reads a field" },
    { "cj_driver_path", NULL, "reads a field" },
    { "cj_driver_version", NULL, "reads a field" },
    { "cj_driver_ptx_version", NULL, "reads a field" },
    { "cj_driver_why", NULL, "reads a field" },
    { "cj_driver_raw", NULL, "reads a field" },
    { "cj_dims_set", NULL, "sets a value" },
    { "cj_dims_threads", NULL, "sets a value" },
    { "cj_dims_shared_set", NULL, "sets a value" },
    { "cj_dims_opts_set", NULL, "sets a value" },
    { "cj_arg_set_i", NULL, "sets a value" },
    { "cj_arg_set_u", NULL, "sets a value" },
    { "cj_arg_set_f32", NULL, "sets a value" },
    { "cj_arg_set_f64", NULL, "sets a value" },
    { "cj_arg_set_ptr", NULL, "sets a value" },
    { "cj_arg_set_bytes", NULL, "sets a value" },
    { "cj_driver_symbol", NULL, "reads a table" },
    { "cj_mem_pool_import_mem", NULL, "leads to memory of another process; tests/stream/pools_of_processes has one" },
    { "cj_ipc_import", NULL, "leads to memory of another process; tests/stream/ipc_memory has one" },
};
enum { OTHERS = sizeof others / sizeof *others };

static char *sources[64]; /* of the programs */
static size_t source_count;

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether one of the programs has a call of that name. */
static bool is_called(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < source_count; i++)
        for (const char *p = sources[i]; (p = strstr(p, name)); p += n)
            if (p > sources[i] && !is_word(p[-1]) && p[n] == '(') return true;
    return false;
}

static void add_source(const char *name)
{
    if (source_count == sizeof sources / sizeof *sources) tap_bail("too many programs");
    sources[source_count] = tap_slurp(tap_source(name), NULL);
    if (!sources[source_count]) tap_bail("%s cannot be read", name);
    source_count++;
}

/* The source that a fault program is made around. */
static void add_included(const char *program)
{
    static const char mark[] = "#define FAULT_SOURCE \"";
    char name[100], *text = tap_slurp(tap_source(program), NULL), *source = text ? strstr(text, mark) : NULL;
    if (!source) tap_bail("%s names no FAULT_SOURCE", program);
    source += strlen(mark);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(source, "\""), source);
    free(text);
    add_source(name);
}

/* What the programs named in tests/whole/local.mk include, and the workload over the fake driver. */
static void find_sources(void)
{
    static const char mark[] = "%D%/fault_";
    char *list = tap_slurp(tap_source("tests/whole/local.mk"), NULL);
    if (!list) tap_bail("tests/whole/local.mk cannot be read");
    for (char *p = list; (p = strstr(p, mark)); p++) {
        char name[100];
        size_t n = 0;
        p += strlen(mark);
        while (is_word(p[n])) n++;
        if (p[n] == '.') continue; /* a header of theirs */
        snprintf(name, sizeof name, "tests/whole/fault_%.*s.c", (int)n, p);
        add_included(name);
    }
    free(list);
}

static void check(const char *name)
{
    for (size_t i = 0; i < OTHERS; i++) {
        if (strcmp(others[i].name, name)) continue;
        if (others[i].by) tap_ok(is_called(others[i].by), "%s: %s", name, others[i].why);
        else tap_ok(!is_called(name), "%s is called by none: %s", name, others[i].why);
        return;
    }
    tap_ok(is_called(name), "%s is called where things fail", name);
}

/* The functions that a header declares with CJ_API; a declaration's name is what stands before the first parenthesis.
 * */
static size_t check_header(const char *file, const char *prefix)
{
    size_t count = 0;
    char *text = tap_slurp(tap_source(file), NULL);
    if (!text) tap_bail("%s cannot be read", file);
    for (char *p = text; (p = strstr(p, "\nCJ_API ")); ) {
        char *end = strchr(p, '('), *begin = end;
        if (!end) break;
        while (is_word(begin[-1])) begin--;
        *end = 0;
        if (!strncmp(begin, prefix, strlen(prefix))) {
            check(begin);
            count++;
        }
        p = end + 1;
    }
    free(text);
    return count;
}

int main(void)
{
    size_t count = 0;
    tap_plan(0);
    find_sources();
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        count += check_header(headers[i].file, headers[i].prefix);
    tap_ok(source_count > 10 && count > 150, "%zu functions, %zu programs", count, source_count);
    for (size_t i = 0; i < source_count; i++) free(sources[i]);
    return tap_done();
}
