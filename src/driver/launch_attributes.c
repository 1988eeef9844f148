/* Attributes of a launch: checked, and as the driver takes them. */
#include <string.h>

#include "base/opts.h"
#include "driver/driver.h"

/* Options that ask for a programmatic launch and nothing else, which libraries of kernels repeat: they have a quick
 * way.  Others may be equal but for their padding, and go the long one. */
static bool is_only_programmatic(const cj_launch_opts *o)
{
    static const cj_launch_opts only = { .size = sizeof only, .programmatic = 1 };
    return o->size == sizeof only && !memcmp(o, &only, sizeof only);
}

/* -- Checks -------------------------------------------------------------------------------------------------------- */

typedef struct attr_need { bool wanted; int version, sm; const char *name; } attr_need;

static bool any_of(const uint32_t v[3]) { return v[0] | v[1] | v[2]; }

static cj_status check_needs(void *into, const cj_kernel *k, const cj_launch_opts *o, const char *call)
{
    const attr_need needs[] = {
#define ATTRIBUTE(id, version, sm, name, wanted) { wanted, version, sm, name },
#include "driver/launch_attributes.def"
    };
    const cj_device *dev = k->dev;
    const int sm = 10 * dev->info.sm_major + dev->info.sm_minor;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const attr_need *n = &needs[i];
        if (!n->wanted) continue;
        if (dev->drv->version < n->version)
            return cji_fail(into, CJ_ENOTSUP, call,
                            "%s: %s needs driver %d or newer (CUDA %d.%d); this one has CUDA %d.%d",
                            cji_short(k->name), n->name, cji_cu_driver_branch(n->version), n->version / 1000,
                            n->version % 1000 / 10, dev->drv->version / 1000, dev->drv->version % 1000 / 10);
        if (sm < n->sm)
            return cji_fail(into, CJ_ENOTSUP, call, "%s: %s needs sm_%d; device %d is %s", cji_short(k->name), n->name,
                            n->sm, dev->ordinal, dev->sm);
    }
    return CJ_OK;
}

static cj_status wrong_value(void *into, const cj_kernel *k, const char *what, int value, int least, int most,
                             const char *call)
{
    return cji_fail(into, CJ_EINVAL, call, "%s: %s is %d, and is in %d .. %d", cji_short(k->name), what, value, least,
                    most);
}

static cj_status check_values(void *into, const cj_kernel *k, const cj_dims *d, const char *call)
{
    const cj_launch_opts *o = d->opts;
    const struct { const char *name; int value, least, most; } ranges[] = {
        { "programmatic", o->programmatic, 0, 1 },
        { "has_priority", o->has_priority, 0, 1 },
        { "cluster_policy", o->cluster_policy, CJ_CLUSTER_DEFAULT, CJ_CLUSTER_LOAD_BALANCING },
        { "remote_domain", o->remote_domain, 0, 1 },
        { "has_domains", o->has_domains, 0, 1 },
        { "carveout", o->carveout, CJ_CARVEOUT_NONE, 100 },
        { "window_hit", o->window_hit, CJ_ACCESS_NORMAL, CJ_ACCESS_PERSISTING },
        { "window_miss", o->window_miss, CJ_ACCESS_NORMAL, CJ_ACCESS_STREAMING },
        { "at_block_start", o->at_block_start, 0, 1 },
        { "nvlink_centric", o->nvlink_centric, 0, 1 },
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].value < ranges[i].least || ranges[i].value > ranges[i].most)
            return wrong_value(into, k, ranges[i].name, ranges[i].value, ranges[i].least, ranges[i].most, call);
    if (!(o->window_ratio >= 0 && o->window_ratio <= 1))
        return cji_fail(into, CJ_EINVAL, call, "%s: window_ratio is %g, and is in 0 .. 1", cji_short(k->name),
                        (double)o->window_ratio);
    for (int i = 0; any_of(o->preferred_cluster) && i < 3; i++) {
        const uint32_t least = d->cluster[i] ? d->cluster[i] : 1;
        if (!o->preferred_cluster[i] || o->preferred_cluster[i] % least)
            return cji_fail(into, CJ_EINVAL, call,
                            "%s: the preferred cluster's %u blocks in %c are no multiple of the cluster's %u",
                            cji_short(k->name), o->preferred_cluster[i], "xyz"[i], least);
    }
    return CJ_OK;
}

bool cji_launch_is_programmatic(const cj_kernel *k, const cj_dims *d)
{
    enum { DRIVER = 11080, SM = 9 }; /* as launch_attributes.def has them */
    return is_only_programmatic(d->opts) && k->dev->drv->version >= DRIVER && k->dev->info.sm_major >= SM;
}

cj_status cji_launch_opts_check(void *into, const cj_kernel *k, const cj_dims *d, const char *call)
{
    cj_launch_opts known;
    if (cji_launch_is_programmatic(k, d)) return CJ_OK;
    cj_dims with = *d;
    cj_launch_defaults(&known);
    if (!cji_opts_take(&known, sizeof known, d->opts, into, call, "cj_launch")) return CJ_EINVAL;
    with.opts = &known;
    cj_status st = check_values(into, k, &with, call);
    return st == CJ_OK ? check_needs(into, k, &known, call) : st;
}

void cji_launch_opts_names(const cj_dims *d, char *out, size_t size)
{
    cji_line l = { out, size, 0 };
    cj_launch_opts known = { .size = 0 }, *o = &known;
    *out = 0;
    if (!d->opts) return;
    memcpy(o, d->opts, d->opts->size < sizeof *o ? d->opts->size : sizeof *o);
    const attr_need needs[] = {
#define ATTRIBUTE(id, version, sm, name, wanted) { wanted, version, sm, name },
#include "driver/launch_attributes.def"
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].wanted) cji_say(&l, "%s%s", *out ? ", " : "", needs[i].name);
}

/* -- For the driver ------------------------------------------------------------------------------------------------ */

static CUlaunchAttributeValue *add_attribute(CUlaunchAttribute *attr, unsigned *n, CUlaunchAttributeID id)
{
    memset(&attr[*n], 0, sizeof attr[*n]);
    attr[*n].id = id;
    return &attr[(*n)++].value;
}

static void add_memory(const cj_launch_opts *o, CUlaunchAttribute *attr, unsigned *n)
{
    if (o->remote_domain)
        add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN)->memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    if (o->has_domains)
        add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)->memSyncDomainMap =
            (CUlaunchMemSyncDomainMap){ o->domain_default, o->domain_remote };
    if (o->carveout)
        add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)->sharedMemCarveout =
            o->carveout > 0 ? (unsigned)o->carveout : 0;
    if (o->window.addr)
        add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)->accessPolicyWindow =
            (CUaccessPolicyWindow){ .base_ptr = (void *)(uintptr_t)o->window.addr,
                                    .num_bytes = o->window_bytes,
                                    .hitRatio = o->window_ratio,
                                    .hitProp = (CUaccessProperty)o->window_hit,
                                    .missProp = (CUaccessProperty)o->window_miss };
}

static void add_opts(const cj_launch_opts *o, CUlaunchAttribute *attr, unsigned *n)
{
    if (o->programmatic)
        add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            ->programmaticStreamSerializationAllowed = 1;
    if (o->has_priority) add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_PRIORITY)->priority = o->priority;
    if (o->cluster_policy)
        add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
            ->clusterSchedulingPolicyPreference = (CUclusterSchedulingPolicy)o->cluster_policy;
    if (any_of(o->preferred_cluster)) {
        CUlaunchAttributeValue *v = add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
        v->preferredClusterDim.x = o->preferred_cluster[0];
        v->preferredClusterDim.y = o->preferred_cluster[1];
        v->preferredClusterDim.z = o->preferred_cluster[2];
    }
    add_memory(o, attr, n);
    if (o->programmatic_event) {
        CUlaunchAttributeValue *v = add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
        v->programmaticEvent.event = o->programmatic_event;
        v->programmaticEvent.triggerAtBlockStart = o->at_block_start;
    }
    if (o->completion_event)
        add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)->launchCompletionEvent.event =
            o->completion_event;
    if (o->nvlink_centric)
        add_attribute(attr, n, CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING)->nvlinkUtilCentricScheduling = 1;
}

CUlaunchConfig cji_launch_config(CUstream stream, const cj_dims *d, CUlaunchAttribute attr[CJI_LAUNCH_ATTRIBUTES])
{
    unsigned n = 0;
    if (d->cluster[0]) {
        CUlaunchAttributeValue *v = add_attribute(attr, &n, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
        v->clusterDim.x = d->cluster[0];
        v->clusterDim.y = d->cluster[1] ? d->cluster[1] : 1;
        v->clusterDim.z = d->cluster[2] ? d->cluster[2] : 1;
    }
    if (d->cooperative) add_attribute(attr, &n, CU_LAUNCH_ATTRIBUTE_COOPERATIVE)->cooperative = 1;
    if (d->opts && is_only_programmatic(d->opts)) {
        add_attribute(attr, &n, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            ->programmaticStreamSerializationAllowed = 1;
    } else if (d->opts) {
        cj_launch_opts o = { .size = 0 };
        memcpy(&o, d->opts, d->opts->size < sizeof o ? d->opts->size : sizeof o); /* checked by cji_launch_opts_check */
        add_opts(&o, attr, &n);
    }
    return (CUlaunchConfig){ .gridDimX = d->grid[0],
                             .gridDimY = d->grid[1],
                             .gridDimZ = d->grid[2],
                             .blockDimX = d->block[0],
                             .blockDimY = d->block[1],
                             .blockDimZ = d->block[2],
                             .sharedMemBytes = d->shared,
                             .hStream = stream,
                             .attrs = attr,
                             .numAttrs = n };
}

CUresult cji_launch_programmatic(const cji_cu *cu, CUfunction fn, CUstream stream, const cj_dims *d, void **args)
{
    CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION };
    attr.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig c = { .gridDimX = d->grid[0], .gridDimY = d->grid[1], .gridDimZ = d->grid[2],
                               .blockDimX = d->block[0], .blockDimY = d->block[1], .blockDimZ = d->block[2],
                               .sharedMemBytes = d->shared, .hStream = stream, .attrs = &attr, .numAttrs = 1 };
    return cu->cuLaunchKernelEx(&c, fn, args, NULL);
}
