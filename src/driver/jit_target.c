/* The target and the version that a module is printed with for a device and its driver.  What one of them does not have
 * is an error here, before the compiler is asked, that names the instruction. */
#include "base/first.h"
#include "driver/jit.h"

#include <stdio.h>

#include "driver/open.h"
#include "ptx/ptx.h"

/* "tcgen05.mma at gemm.c:90"; "" for none. */
static void demand_text(const cj_ptx *m, const cji_ptx_demand *d, char *out, size_t size)
{
    uint32_t line = 0;
    *out = 0;
    if (!d->what) return;
    const char *file = cji_ptx_where(m, d->loc, &line);
    if (line) snprintf(out, size, "%s at %.120s:%u", d->what, file, line);
    else snprintf(out, size, "%s", d->what);
}

/* The device has no target that the module can have. */
static cj_status device_lacks(void *obj, const cj_device *dev, const cj_ptx *m, const char *call)
{
    char list[160], what[240], which[260] = "";
    const cji_ptx_demand d = cji_ptx_first_lacking(m, dev->runs);
    cji_target_list(d.what ? d.targets : cji_ptx_able(m), list, sizeof list);
    demand_text(m, &d, what, sizeof what);
    if (*what) snprintf(which, sizeof which, " for %s", what);
    return cji_fail(obj, CJ_ENOTSUP, call, "the module needs target %s%s; device %d (%s) is %s", list, which,
                    dev->ordinal, dev->info.name, dev->sm);
}

/* The least version of the module for that device, with the target in *target; UINT8_MAX: none. */
static uint8_t least_version(const cj_ptx *m, cji_targets runs, int *target)
{
    for (unsigned version = 0; version < UINT8_MAX; version++) {
        *target = cji_ptx_target_for(m, (cji_ptx_device){ .runs = runs, .most = (uint8_t)version });
        if (*target >= 0) return (uint8_t)version;
    }
    return UINT8_MAX;
}

/* The driver takes no version that the module can have. */
static cj_status driver_lacks(void *obj, const cj_device *dev, const cj_ptx *m, const char *call)
{
    char what[240], needs[300];
    int target;
    const int most = dev->drv->ptx_version;
    const uint8_t version = least_version(m, dev->runs, &target);
    const cji_ptx_demand d = cji_ptx_newest(m, target);
    demand_text(m, &d, what, sizeof what);
    if (version == UINT8_MAX)
        return cji_fail(obj, CJ_ENOTSUP, call, "no PTX version and target of device %d (%s, %s) have all that the "
                        "module uses%s%s", dev->ordinal, dev->info.name, dev->sm, *what ? "; its newest is " : "",
                        what);
    if (d.version > most) snprintf(needs, sizeof needs, "%s needs %u.%u", what, d.version / 10u, d.version % 10u);
    else if (cji_target_since((uint32_t)target) > most)
        snprintf(needs, sizeof needs, "target %s needs %u.%u", cji_target_name((uint32_t)target), version / 10u,
                 version % 10u);
    else snprintf(needs, sizeof needs, "the module needs %u.%u", version / 10u, version % 10u);
    const int cuda = cji_cuda_of_ptx(version);
    return cji_fail(obj, CJ_ENOTSUP, call,
                    "the driver supports PTX up to %d.%d, %s; install driver %d or newer (CUDA %d.%d)", most / 10,
                    most % 10, needs, cji_cu_driver_branch(cuda), cuda / 1000, cuda % 1000 / 10);
}

CJI_FIRST cj_status cji_jit_target(void *obj, const cj_device *dev, const cj_ptx *m, int *target, const char *call)
{
    if (dev->runs && !(cji_ptx_able(m) & dev->runs)) return device_lacks(obj, dev, m, call);
    *target = cji_ptx_target_for(m, (cji_ptx_device){ .runs = dev->runs, .most = (uint8_t)dev->drv->ptx_version });
    return *target >= 0 ? CJ_OK : driver_lacks(obj, dev, m, call);
}
