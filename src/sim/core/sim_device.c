/* Devices and their primary contexts. */
#include "sim/core/sim_core.h"

#include <stdio.h>
#include <string.h>

sim_device *cji_sim_device(CUdevice d) { return d >= 0 && (unsigned)d < sim.set.devices ? sim.device[d] : NULL; }

void cji_sim_device_end_contexts(sim_device *d)
{
    cji_sim_ctx_end(&d->primary);
    while (d->contexts) {
        sim_ctx *c = d->contexts;
        d->contexts = c->next;
        cji_sim_ctx_end(c);
        cji_free(c, sizeof *c);
    }
}

void cji_sim_device_end(sim_device *d)
{
    cji_sim_rooms_device_end(d);
    cji_sim_space_close(d);
}

CUresult cji_sim_cuDeviceGetCount(int *count)
{
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = (int)sim.set.devices;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuDeviceGet(CUdevice *device, int ordinal)
{
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuDeviceGetName(char *name, int len, CUdevice d)
{
    if (!name || len < 1) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(d)) return CUDA_ERROR_INVALID_DEVICE;
    char suffix[2] = { sim.set.sm_suffix, 0 };
    snprintf(name, (size_t)len, "cujit CPU device (sm_%u%s)", sim.set.sm, suffix);
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice d)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sim_device *dev = cji_sim_device(d);
    return dev ? cji_sim_device_attribute(value, (int)attribute, dev) : CUDA_ERROR_INVALID_DEVICE;
}

/* Opens the device's addresses, whose size is what the device has. */
CUresult cji_sim_cuDeviceTotalMem(size_t *bytes, CUdevice d)
{
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    sim_device *dev = cji_sim_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    bool ok = cji_sim_space_open(dev);
    *bytes = dev->span;
    sim_unlock();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The same in every process, another for each device. */
CUresult cji_sim_cuDeviceGetUuid(CUuuid *uuid, CUdevice d)
{
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(d)) return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, "cujit-cpu-device", sizeof uuid->bytes);
    uuid->bytes[15] = (char)d;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuDeviceGetPCIBusId(char *text, int len, CUdevice d)
{
    if (!text || len < 1) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(d)) return CUDA_ERROR_INVALID_DEVICE;
    if (len < 13) return CUDA_ERROR_INVALID_VALUE;
    snprintf(text, (size_t)len, "0000:%02X:00.0", (unsigned)d + 1);
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuDeviceGetByPCIBusId(CUdevice *d, const char *text)
{
    if (!d || !text) return CUDA_ERROR_INVALID_VALUE;
    unsigned domain = 0, bus, slot, function = 0;
    if (sscanf(text, "%x:%x:%x.%u", &domain, &bus, &slot, &function) < 3) {
        domain = function = 0;
        if (sscanf(text, "%x:%x.%u", &bus, &slot, &function) < 2) return CUDA_ERROR_INVALID_VALUE;
    }
    if (domain || slot || function || !bus || !cji_sim_device((CUdevice)bus - 1)) return CUDA_ERROR_INVALID_DEVICE;
    *d = (CUdevice)bus - 1;
    return CUDA_SUCCESS;
}

/* ---- Peers ------------------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuDeviceCanAccessPeer(int *can, CUdevice d, CUdevice peer)
{
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(d) || !cji_sim_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
    *can = d != peer;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice src, CUdevice dst)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(src) || !cji_sim_device(dst) || src == dst) return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: *value = 1; return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: *value = 0; return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult sim_peer(CUcontext peer, unsigned flags, bool on)
{
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    sim_ctx *p = (sim_ctx *)peer;
    if (!r && flags) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (!cji_sim_handle_is(SIM_CTX, p) || !p->alive || p == c)) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r && p->dev == c->dev) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r) {
        unsigned bit = 1u << p->dev->ordinal;
        if (on && c->dev->peers & bit) r = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
        else if (!on && !(c->dev->peers & bit)) r = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
        else c->dev->peers ^= bit;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) { return sim_peer(peer, flags, true); }
CUresult cji_sim_cuCtxDisablePeerAccess(CUcontext peer) { return sim_peer(peer, 0, false); }

/* ---- Primary contexts -------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice d)
{
    if (!ctx) return CUDA_ERROR_INVALID_VALUE;
    sim_device *dev = cji_sim_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    cji_sim_ctx_settle(&dev->primary);
    CUresult r = dev->primary.fault;    /* a fault outlives the context: only a new process is free of it */
    if (!r && !dev->primary.alive) r = cji_sim_ctx_start(&dev->primary, dev);
    if (!r) {
        dev->primary.retained++;
        *ctx = (CUcontext)&dev->primary;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuDevicePrimaryCtxRelease(CUdevice d)
{
    sim_device *dev = cji_sim_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    CUresult r = CUDA_SUCCESS;
    sim_lock();
    cji_sim_ctx_settle(&dev->primary);
    if (!dev->primary.retained) r = CUDA_ERROR_INVALID_CONTEXT;
    else if (--dev->primary.retained == 0 && dev->primary.alive) cji_sim_ctx_stop(&dev->primary);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuDevicePrimaryCtxReset(CUdevice d)
{
    sim_device *dev = cji_sim_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    cji_sim_ctx_settle(&dev->primary);
    if (dev->primary.alive) cji_sim_ctx_stop(&dev->primary);
    sim_unlock();
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuDevicePrimaryCtxGetState(CUdevice d, unsigned *flags, int *active)
{
    sim_device *dev = cji_sim_device(d);
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    *flags = dev->primary.flags;
    *active = dev->primary.alive;
    sim_unlock();
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuDevicePrimaryCtxSetFlags(CUdevice d, unsigned flags)
{
    sim_device *dev = cji_sim_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    if (!cji_sim_ctx_flags_ok(flags)) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    dev->primary.flags = flags;
    sim_unlock();
    return CUDA_SUCCESS;
}
