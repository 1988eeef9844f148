/* Between devices: access of one to the memory of the other, and uses of a device's memory by streams of another.
 *
 * A device's releases wait for its own streams only.  So the device has one stream of the library's own, which waits,
 * on the device, for the point that a stream of another device has reached; the slot of that stream is the memory's
 * user. */
#include "base/cancel.h"
#include "stream/memory/stream_memory.h"

/* -- Uses ---------------------------------------------------------------------------------------------------------- */

/* The state's stream for peers, made at first use; on failure NULL and *r. */
static cji_slot *peer_slot_of(cji_mem_state *state, CUresult *r)
{
    const cji_cu *cu = state->queue->cu;
    cji_scope scope;
    *r = CUDA_SUCCESS;
    cji_lock(&state->peer_lock, CJI_LOCK_PEER);
    if (!state->peer_slot) {
        CUstream raw = NULL;
        cji_queue_scope(state->queue, &scope);
        *r = cu->cuStreamCreateWithPriority(&raw, CU_STREAM_NON_BLOCKING, 0);
        if (*r == CUDA_SUCCESS) {
            state->peer_slot = cji_slot_open(state->queue, raw, NULL);
            if (!state->peer_slot) cu->cuStreamDestroy(raw);
        }
        cji_scope_leave(&scope);
    }
    cji_slot *slot = state->peer_slot;
    cji_unlock(&state->peer_lock, CJI_LOCK_PEER);
    return slot;
}

static void peer_slot_free(cji_mem_state *state, cji_slot *slot)
{
    if (!slot) return;
    CUstream raw = slot->raw;
    cji_slot_close(state->queue, slot);
    state->queue->cu->cuStreamDestroy(raw);
}

void cji_peer_free(cji_mem_state *state)
{
    peer_slot_free(state, state->peer_slot);
    for (unsigned i = 0; i < CJI_WAITERS; i++) peer_slot_free(state, state->waiter[i]);
    pthread_mutex_destroy(&state->peer_lock);
}

cj_status cji_peer_use(cji_mem_state *state, cj_stream *s, uint64_t *bit, const char *call)
{
    const char *cu_call;
    CUresult r;
    cji_slot *slot = peer_slot_of(state, &r);
    if (r != CUDA_SUCCESS) return cji_rejected(s, s->dev, r, call, "cuStreamCreateWithPriority");
    if (!slot) return cji_fail(s, CJ_ENOMEM, call, "no memory to note the use of another device's memory");
    r = cji_stream_order_raw(s, slot->raw, &cu_call);
    *bit = slot->bit;
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(s, s->dev, r, call, cu_call);
}

/* -- Access -------------------------------------------------------------------------------------------------------- */

/* Whether both are devices of one driver, which a failure left in the first says. */
static cj_status peer_check(cj_device *dev, cj_device *peer, const char *call)
{
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st == CJ_OK) st = cji_check_arg(dev, peer, CJI_TAG_DEVICE, call, "the other device");
    if (st != CJ_OK) return st;
    return cji_device_meets(dev, peer) ? CJ_OK
                                       : cji_cu_fail_apart(dev, dev, peer, call, "the devices are of two drivers");
}

static CUresult peer_can(cj_device *dev, cj_device *peer, int *can)
{
    CJI_NO_CANCEL;
    *can = dev == peer;
    return dev == peer ? CUDA_SUCCESS : dev->api.cuDeviceCanAccessPeer(can, dev->cu, peer->cu);
}

int cj_device_can_access_peer(cj_device *dev, cj_device *peer)
{
    int can = 0;
    if (peer_check(dev, peer, "cj_device_can_access_peer") != CJ_OK) return 0;
    return peer_can(dev, peer, &can) == CUDA_SUCCESS && can;
}

/* In a scope of `dev`. */
static CUresult peer_open(cj_device *dev, cj_device *peer, const char **cu_call)
{
    const cji_cu *cu = &dev->api;
    const CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->cu },
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemoryPool pool = NULL;
    *cu_call = "cuCtxEnablePeerAccess";
    CUresult r = cu->cuCtxEnablePeerAccess(peer->ctx, 0);
    if (r == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) r = CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) *cu_call = "cuDeviceGetMemPool", r = cu->cuDeviceGetMemPool(&pool, peer->cu);
    /* a pool's access is its own */
    if (r == CUDA_SUCCESS) *cu_call = "cuMemPoolSetAccess", r = cu->cuMemPoolSetAccess(pool, &access, 1);
    return r;
}

cj_status cji_peer_in_graph(void *into, cj_device *home, cj_device *other, const char *call)
{
    const char *cu_call = "cuDeviceCanAccessPeer";
    cji_scope scope;
    int can = 0;
    if (home == other) return CJ_OK;
    CUresult r = peer_can(home, other, &can);
    if (r == CUDA_SUCCESS && !can)
        return cji_fail(
            into, CJ_ENOTSUP, call,
            "device %d cannot access the memory of device %d, as a copy in a graph must; copy with cj_copy_peer "
            "outside of captures",
            home->ordinal, other->ordinal);
    if (r == CUDA_SUCCESS) {
        cji_queue_scope(&home->queue, &scope);
        r = peer_open(home, other, &cu_call);
        cji_scope_leave(&scope);
    }
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(into, home, r, call, cu_call);
}

/* Asks the driver; a failure is left in `dev`. */
static cj_status peer_enable(cj_device *dev, cj_device *peer, const char *call)
{
    const char *cu_call = "cuDeviceCanAccessPeer";
    cji_scope scope;
    int can = 0;
    CUresult r = peer_can(dev, peer, &can);
    if (r == CUDA_SUCCESS && !can)
        return cji_fail(dev, CJ_ENOTSUP, call,
                        "device %d cannot access the memory of device %d; copy with cj_copy_peer", dev->ordinal,
                        peer->ordinal);
    if (r == CUDA_SUCCESS) {
        cji_queue_scope(&dev->queue, &scope);
        r = peer_open(dev, peer, &cu_call);
        cji_scope_leave(&scope);
    }
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(dev, dev, r, call, cu_call);
}

/* Kernels on the device's streams may use that memory: its failure is that of every open stream, and of those made
 * until it succeeds (stream.c). */
static void peer_note(cj_device *dev, const cj_device *peer, const cj_error *why)
{
    const uint64_t bit = UINT64_C(1) << peer->ordinal % 64;
    cji_lock(&dev->queue.lock, CJI_LOCK_QUEUE);
    if (why && !dev->peer_failed) dev->peer_why = *why;
    dev->peer_failed = why ? dev->peer_failed | bit : dev->peer_failed & ~bit;
    cji_unlock(&dev->queue.lock, CJI_LOCK_QUEUE);
    if (why) cji_streams_fail(&dev->queue, why);
}

cj_status cj_device_enable_peer(cj_device *dev, cj_device *peer)
{
    static const char call[] = "cj_device_enable_peer";
    cj_status st = peer_check(dev, peer, call);
    if (st != CJ_OK || dev == peer) return st;
    st = peer_enable(dev, peer, call);
    peer_note(dev, peer, st == CJ_OK ? NULL : cj_error_last());
    return st;
}

/* In a scope of `dev`.  Access that was not enabled is none to take back. */
static CUresult peer_shut(const cj_device *dev, const cj_device *peer, const char **cu_call)
{
    const cji_cu *cu = &dev->api;
    const CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->cu },
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE };
    CUmemoryPool pool = NULL;
    *cu_call = "cuCtxDisablePeerAccess";
    CUresult r = cu->cuCtxDisablePeerAccess(peer->ctx);
    if (r == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) r = CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) *cu_call = "cuDeviceGetMemPool", r = cu->cuDeviceGetMemPool(&pool, peer->cu);
    if (r == CUDA_SUCCESS) *cu_call = "cuMemPoolSetAccess", r = cu->cuMemPoolSetAccess(pool, &access, 1);
    return r;
}

cj_status cj_device_disable_peer(cj_device *dev, cj_device *peer)
{
    static const char call[] = "cj_device_disable_peer";
    const char *cu_call = "";
    cji_scope scope;
    cj_status st = peer_check(dev, peer, call);
    if (st != CJ_OK || dev == peer) return st;
    if (!cj_device_can_access_peer(dev, peer)) return CJ_OK;
    cji_queue_scope(&dev->queue, &scope);
    const CUresult r = peer_shut(dev, peer, &cu_call);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(dev, dev, r, call, cu_call);
}

cj_status cj_device_peer_attribute(cj_device *dev, cj_device *peer, cj_peer_attr attribute, int *value)
{
    static const char call[] = "cj_device_peer_attribute";
    cji_scope scope;
    cj_status st = peer_check(dev, peer, call);
    if (st != CJ_OK) return st;
    if (!value) return cji_fail(dev, CJ_EINVAL, call, "value is NULL");
    if (attribute < CJ_PEER_PERFORMANCE_RANK || attribute > CJ_PEER_PARTIAL_ATOMICS)
        return cji_fail(dev, CJ_EINVAL, call, "%d is no cj_peer_attr", (int)attribute);
    if (dev == peer || dev->cu == peer->cu)
        return cji_fail(dev, CJ_EINVAL, call, "device %d is no peer of itself", dev->ordinal);
    cji_queue_scope(&dev->queue, &scope);
    const CUresult r = dev->api.cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attribute, dev->cu, peer->cu);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(dev, dev, r, call, "cuDeviceGetP2PAttribute");
}
