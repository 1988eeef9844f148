/* Enumerations and flags of driver calls by name.  All names are one text, so that the table needs no relocations. */
#include <stdlib.h>
#include <string.h>

#include "driver/interpose/driver_interpose.h"

/* "\nCUstream_flags 0x0=CU_STREAM_DEFAULT 0x1=CU_STREAM_NON_BLOCKING\n..." */
static const char call_names[] =
#define T(type) "\n" #type
#define V(value, name) " " #value "=" #name
#include "driver/interpose/call_names.def"
    "\n";

/* Parameters whose type is a number and whose values are flags: those of the calls whose names begin so, the first that
 * fits.  The parameter is the one that is called flags. */
static const struct { const char *call, *type; } flag_rows[] = {
    { "cuCtxGetFlags", "CUctx_flags" },
    { "cuCtxCreate", "CUctx_flags" },
    { "cuDevicePrimaryCtx", "CUctx_flags" },
    { "cuEventCreate", "CUevent_flags" },
    { "cuEventRecordWithFlags", "CUevent_record_flags" },
    { "cuGetProcAddress", "CUdriverProcAddress_flags" },
    { "cuGraphConditionalHandleCreate", "CU_GRAPH_COND_ASSIGN" },
    { "cuGraphDebugDotPrint", "CUgraphDebugDot_flags" },
    { "cuGraphExecGetFlags", "CUgraphInstantiate_flags" },
    { "cuGraphInstantiateWithFlags", "CUgraphInstantiate_flags" },
    { "cuGraphRetainUserObject", "CUuserObjectRetain_flags" },
    { "cuIpcOpenMemHandle", "CUipcMem_flags" },
    { "cuMemAllocManaged", "CUmemAttach_flags" },
    { "cuMemHostAlloc", "CU_MEMHOSTALLOC" },
    { "cuMemHostGetFlags", "CU_MEMHOSTALLOC" },
    { "cuMemHostRegister", "CU_MEMHOSTREGISTER" },
    { "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "CUoccupancy_flags" },
    { "cuOccupancyMaxPotentialBlockSizeWithFlags", "CUoccupancy_flags" },
    { "cuStreamAttachMemAsync", "CUmemAttach_flags" },
    { "cuStreamCreate", "CUstream_flags" },
    { "cuStreamGetFlags", "CUstream_flags" },
    { "cuStreamUpdateCaptureDependencies", "CUstreamUpdateCaptureDependencies_flags" },
    { "cuStreamWaitEvent", "CUevent_wait_flags" },
    { "cuStreamWaitValue", "CUstreamWaitValue_flags" },
    { "cuStreamWriteValue", "CUstreamWriteValue_flags" },
    { "cuUserObjectCreate", "CUuserObject_flags" },
};

const char *cji_call_flags(const char *call, const char *param)
{
    if (strcmp(param, "flags") != 0 && strcmp(param, "Flags") != 0 && strcmp(param, "pFlags") != 0) return NULL;
    for (size_t i = 0; i < sizeof flag_rows / sizeof *flag_rows; i++)
        if (strncmp(call, flag_rows[i].call, strlen(flag_rows[i].call)) == 0) return flag_rows[i].type;
    return NULL;
}

/* The values of a type, which end with the line; NULL: it has none. */
static const char *names_of(const char *type, size_t n)
{
    for (const char *p = call_names; (p = strchr(p, '\n')) && p[1]; p++)
        if (strncmp(p + 1, type, n) == 0 && p[1 + n] == ' ') return p + 1 + n;
    return NULL;
}

/* The value at " 0x1=CU_STREAM_NON_BLOCKING"; *end is behind it. */
static uint64_t name_at(const char *p, const char **name, const char **end)
{
    char *equals;
    const uint64_t value = (uint64_t)strtoull(p + 1, &equals, 0);
    *name = equals + 1;
    *end = *name + strcspn(*name, " \n");
    return value;
}

/* The flags of `v` by name, the largest first, since it may have the bits of others; the rest as a number.  Masks are
 * no flags. */
static void put_flags(cji_line *l, const char *names, uint64_t v)
{
    const char *name, *end, *between = "";
    while (v) {
        const char *best = NULL;
        int length = 0;
        uint64_t bits = 0;
        for (const char *p = names; *p == ' '; p = end) {
            const uint64_t one = name_at(p, &name, &end);
            if (one <= bits || (one & v) != one || memcmp(end - 5, "_MASK", 5) == 0) continue;
            best = name, length = (int)(end - name), bits = one;
        }
        if (!best) break;
        cji_say(l, "%s%.*s", between, length, best);
        between = "|";
        v &= ~bits;
    }
    if (v) cji_say(l, "%s0x%llx", between, (unsigned long long)v);
}

bool cji_put_named(cji_line *l, const char *type, size_t n, uint64_t v)
{
    const char *names = names_of(type, n), *name, *end;
    if (!names) return false;
    for (const char *p = names; *p == ' '; p = end) {
        if (name_at(p, &name, &end) != v) continue;
        cji_say(l, "%.*s", (int)(end - name), name);
        return true;
    }
    const bool flags = strncmp(type, "CU_", 3) == 0 || (n > 6 && memcmp(type + n - 6, "_flags", 6) == 0);
    if (!flags || !v) return false;
    put_flags(l, names, v);
    return true;
}
