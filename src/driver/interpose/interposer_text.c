/* A call to the driver as one line of text: arguments by their types, what the driver wrote behind those that it
 * writes through. */
#include "driver/interpose/driver_interpose.h"

#include <string.h>

static void put_string(cji_line *l, const char *s)
{
    size_t n = 0;
    if (!s) {
        cji_say(l, "NULL");
        return;
    }
    cji_say(l, "\"");
    for (; s[n] && n < 80; n++) {
        if (s[n] == '\n') cji_say(l, "\\n");
        else if (s[n] == '"' || s[n] == '\\') cji_say(l, "\\%c", s[n]);
        else if ((unsigned char)s[n] < ' ') cji_say(l, "\\x%02x", (unsigned char)s[n]);
        else cji_say(l, "%c", s[n]);
    }
    cji_say(l, s[n] ? "\"..." : "\"");
}

/* -- Types --------------------------------------------------------------------------------------------------------- */

enum shown { SHOWN_NOT, SHOWN_SIGNED, SHOWN_UNSIGNED, SHOWN_HANDLE, SHOWN_FLOAT, SHOWN_STRING, SHOWN_RESULT };

/* Types that arguments have, or that they point to. */
static const struct arg_type { const char *type; uint8_t bytes, shown; } arg_types[] = {
    { "int", 4, SHOWN_SIGNED },
    { "CUdevice", 4, SHOWN_SIGNED },
    { "unsigned int", 4, SHOWN_UNSIGNED },
    { "cuuint32_t", 4, SHOWN_UNSIGNED },
    { "unsigned char", 1, SHOWN_UNSIGNED },
    { "unsigned short", 2, SHOWN_UNSIGNED },
    { "size_t", 8, SHOWN_UNSIGNED },
    { "cuuint64_t", 8, SHOWN_UNSIGNED },
    { "unsigned long long", 8, SHOWN_UNSIGNED },
    { "float", 4, SHOWN_FLOAT },
    { "CUresult", 4, SHOWN_RESULT },
    { "CUdeviceptr", 8, SHOWN_HANDLE },
    { "CUcontext", 8, SHOWN_HANDLE },
    { "CUmodule", 8, SHOWN_HANDLE },
    { "CUfunction", 8, SHOWN_HANDLE },
    { "CUarray", 8, SHOWN_HANDLE },
    { "CUevent", 8, SHOWN_HANDLE },
    { "CUstream", 8, SHOWN_HANDLE },
    { "CUgraph", 8, SHOWN_HANDLE },
    { "CUgraphNode", 8, SHOWN_HANDLE },
    { "CUgraphExec", 8, SHOWN_HANDLE },
    { "CUmemoryPool", 8, SHOWN_HANDLE },
    { "CUuserObject", 8, SHOWN_HANDLE },
    { "CUlinkState", 8, SHOWN_HANDLE },
    { "CUgraphConditionalHandle", 8, SHOWN_HANDLE },
    { "CUhostFn", 8, SHOWN_HANDLE },
    { "CUstreamCallback", 8, SHOWN_HANDLE },
    { "CUoccupancyB2DSize", 8, SHOWN_HANDLE },
    { "CUstreamCaptureMode", 4, SHOWN_SIGNED },
    { "CUstreamCaptureStatus", 4, SHOWN_SIGNED },
    { "CUmemAccess_flags", 4, SHOWN_SIGNED },
    { "CUgraphNodeType", 4, SHOWN_SIGNED },
    { "CUmoduleLoadingMode", 4, SHOWN_SIGNED },
    { "CUfunctionLoadingState", 4, SHOWN_SIGNED },
    { "CUdriverProcAddressQueryResult", 4, SHOWN_SIGNED },
};

/* Pointers that a success fills: parameters of these names point to one value.  The others are arrays, or are left
 * alone in some cases. */
static const char *const filled_names[] = {
    "count",
    "device",
    "dev",
    "pi",
    "bytes",
    "driverVersion",
    "pool",
    "pool_out",
    "canAccessPeer",
    "value",
    "pctx",
    "flags",
    "active",
    "leastPriority",
    "greatestPriority",
    "pvalue",
    "version",
    "ctxId",
    "module",
    "hfunc",
    "dptr",
    "hmod",
    "mode",
    "paramOffset",
    "paramSize",
    "state",
    "stateOut",
    "sizeOut",
    "numBlocks",
    "minGridSize",
    "blockSize",
    "dynamicSmemSize",
    "clusterSize",
    "numClusters",
    "free",
    "total",
    "pPitch",
    "pbase",
    "psize",
    "pdptr",
    "pFlags",
    "phStream",
    "priority",
    "streamId",
    "phGraph",
    "captureStatus",
    "captureStatus_out",
    "phEvent",
    "pMilliseconds",
    "phGraphClone",
    "phNode",
    "phGraphNode",
    "event_out",
    "dptr_out",
    "pHandle_out",
    "numNodes",
    "numRootNodes",
    "numEdges",
    "type",
    "numDependencies",
    "numDependentNodes",
    "phGraphExec",
    "isEnabled",
    "object_out",
    "pStr",
    "pp",
    "cubinOut",
    "pfn",
    "ppExportTable",
    "name",
    "pciBusId",
    "symbolFound",
};

static const struct arg_type *find_type(const char *type, size_t n)
{
    for (size_t i = 0; i < sizeof arg_types / sizeof *arg_types; i++)
        if (strlen(arg_types[i].type) == n && memcmp(arg_types[i].type, type, n) == 0) return &arg_types[i];
    return NULL;
}

static bool is_filled(const char *name)
{
    for (size_t i = 0; i < sizeof filled_names / sizeof *filled_names; i++)
        if (strcmp(filled_names[i], name) == 0) return true;
    return false;
}

/* -- Values -------------------------------------------------------------------------------------------------------- */

static void put_value(cji_line *l, enum shown shown, uint64_t v)
{
    float f;
    uint32_t low = (uint32_t)v;
    const char *name;
    switch (shown) {
    case SHOWN_SIGNED: cji_say(l, "%d", (int)low); break;
    case SHOWN_UNSIGNED: cji_say(l, "%llu", (unsigned long long)v); break;
    case SHOWN_FLOAT: memcpy(&f, &low, sizeof f); cji_say(l, "%.9g", (double)f); break;
    case SHOWN_STRING: put_string(l, (const char *)(uintptr_t)v); break;
    case SHOWN_RESULT:
        name = cji_cu_error_name((int)low);
        if (name) cji_say(l, "%s", name);
        else cji_say(l, "%d", (int)low);
        break;
    default: cji_say(l, "0x%llx", (unsigned long long)v); break;
    }
}

/* What stands behind a pointer that a success has filled. */
static void put_filled(cji_line *l, const char *call, const cji_cu_param *p, uint64_t pointer)
{
    size_t n = strlen(p->type);
    uint64_t v = 0;
    if (!pointer || n < 3 || !is_filled(p->name)) return;
    const void *at = (const void *)(uintptr_t)pointer;
    if (strcmp(p->type, "char *") == 0) {
        cji_say(l, " -> ");
        put_string(l, at);
    } else if (strcmp(p->type, "const char **") == 0) {
        memcpy(&v, at, sizeof(void *));
        cji_say(l, " -> ");
        put_string(l, (const char *)(uintptr_t)v);
    } else if (strcmp(p->type, "void **") == 0 || strcmp(p->type, "const void **") == 0) {
        memcpy(&v, at, sizeof(void *));
        cji_say(l, " -> 0x%llx", (unsigned long long)v);
    } else {
        const struct arg_type *t =
            find_type(p->type, n - 2); /* "T *"; a pointer to const is read, not filled, and found nowhere */
        const char *flags = cji_call_flags(call, p->name);
        if (!t) return;
        if (t->bytes == 4) {
            uint32_t low;
            memcpy(&low, at, sizeof low);
            v = low;
        } else {
            memcpy(&v, at, sizeof v);
        }
        cji_say(l, " -> ");
        if (flags && cji_put_named(l, flags, strlen(flags), v)) return;
        if (!cji_put_named(l, p->type, n - 2, v)) put_value(l, (enum shown)t->shown, v);
    }
}

/* What cuPointerGetAttribute has written to `data`, where that is an enumeration. */
static void put_memory_type(cji_line *l, const cji_cu_row *row, const uint64_t *value)
{
    static const char type[] = "CUmemorytype";
    uint32_t low;
    if (strcmp(row->name, "cuPointerGetAttribute") != 0 || !value[0] || value[1] != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        return;
    memcpy(&low, (const void *)(uintptr_t)value[0], sizeof low);
    cji_say(l, " -> ");
    if (!cji_put_named(l, type, sizeof type - 1, low)) cji_say(l, "%u", low);
}

/* The options of the compiler, as many as the parameter before says. */
static void put_jit_options(cji_line *l, const uint64_t *value, int i)
{
    static const char type[] = "CUjit_option";
    const CUjit_option *option = (const CUjit_option *)(uintptr_t)value[i];
    const uint64_t count = option && i ? value[i - 1] : 0;
    for (uint64_t k = 0; k < count && k < 8; k++) {
        cji_say(l, k ? ", " : " {");
        if (!cji_put_named(l, type, sizeof type - 1, (uint64_t)option[k])) cji_say(l, "%d", (int)option[k]);
    }
    if (count) cji_say(l, count > 8 ? ", ...}" : "}");
}

static void put_argument(cji_line *l, const cji_cu_row *row, int i, const uint64_t *value, bool success)
{
    const cji_cu_param *p = &row->param[i];
    const uint64_t v = value[i];
    const size_t n = strlen(p->type);
    const struct arg_type *t = find_type(p->type, n);
    const char *flags = cji_call_flags(row->name, p->name);
    cji_say(l, "%s=", p->name);
    if (strcmp(p->type, "const char *") == 0) {
        put_string(l, (const char *)(uintptr_t)v);
    } else if (p->type[n - 1] == '*') {
        cji_say(l, "0x%llx", (unsigned long long)v);
        cji_struct_text(l, p->type, v);
        if (strcmp(p->type, "CUjit_option *") == 0) put_jit_options(l, value, i);
        if (success) put_filled(l, row->name, p, v);
        if (success && !i) put_memory_type(l, row, value);
    } else if (!(flags && cji_put_named(l, flags, strlen(flags), v)) && !cji_put_named(l, p->type, n, v)) {
        put_value(l, t ? (enum shown)t->shown : SHOWN_SIGNED, v); /* the other types are enumerations */
    }
}

void cji_interposer_text(char *out, size_t size, int id, const uint64_t *value, CUresult r)
{
    const cji_cu_row *row = &cji_cu_rows[id];
    cji_line l = { out, size, 0 };
    cji_say(&l, "%s(", row->name);
    for (int i = 0; i < row->count; i++) {
        if (i) cji_say(&l, ", ");
        put_argument(&l, row, i, value, r == CUDA_SUCCESS);
    }
    cji_say(&l, ") = ");
    put_value(&l, SHOWN_RESULT, (uint64_t)r);
}
