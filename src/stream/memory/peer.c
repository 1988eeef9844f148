/* Between devices: access of one to the other, and uses of a device's memory by streams of another.
 *
 * A device's releases wait for its own lanes only.  So a use by a foreign stream is handed on: the device has one stream of its own for guests,
 * which waits, on the device, for the point that the foreign stream has reached; that lane is the memory's user. */
#include "stream/core/stream_core.h"

/* -- Guests -------------------------------------------------------------------------------------------------------------- */

/* The side's stream for guests, made at first use; NULL without memory. */
static cji_slot *peer_slot_of(cji_mem_state *state)
{
    cji_calm calm;
    pthread_mutex_lock(&state->peer_lock);
    if (!state->peer_slot) {
        CUstream raw = NULL;
        cji_calm_begin(state->queue, &calm);
        if (state->queue->cu->cuStreamCreateWithPriority(&raw, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS) {
            state->peer_slot = cji_slot_open(state->queue, raw);
            if (!state->peer_slot) state->queue->cu->cuStreamDestroy(raw);
        }
        cji_calm_end(state->queue, &calm);
    }
    cji_slot *slot = state->peer_slot;
    pthread_mutex_unlock(&state->peer_lock);
    return slot;
}

void cji_peer_free(cji_mem_state *state)
{
    if (state->peer_slot) {
        CUstream raw = state->peer_slot->raw;
        cji_slot_close(state->queue, state->peer_slot);
        state->queue->cu->cuStreamDestroy(raw);
    }
    pthread_mutex_destroy(&state->peer_lock);
}

cj_status cji_peer_use(cji_mem_state *state, cj_stream *s, uint64_t *bit, void *into, const char *call)
{
    const char *cu_call;
    cji_ctx ctx;
    cji_slot *slot = peer_slot_of(state);
    if (!slot) return cji_fail(into, CJ_ENOMEM, call, "no memory to note the use of another device's memory");
    cj_status st = cji_ctx_begin(into, s->dev, &ctx, call);
    if (st != CJ_OK) return st;
    CUresult r = cji_stream_order_raw(s, slot->raw, &cu_call);
    cji_ctx_leave(s->dev, &ctx);
    *bit = slot->bit;
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(into, s->dev, r, call, cu_call);
}

/* -- Access -------------------------------------------------------------------------------------------------------------- */

/* Whether both are devices of one driver, which a failure left in the first says. */
static cj_status peer_check(cj_device *dev, cj_device *peer, const char *call)
{
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st == CJ_OK) st = cji_check_arg(dev, peer, CJI_TAG_DEVICE, call, "the other device");
    if (st != CJ_OK) return st;
    return dev->drv == peer->drv ? CJ_OK : cji_fail(dev, CJ_EINVAL, call, "the devices are of two drivers");
}

static CUresult peer_can(cj_device *dev, cj_device *peer, int *can)
{
    *can = dev == peer;
    return dev == peer ? CUDA_SUCCESS : dev->drv->cu.cuDeviceCanAccessPeer(can, dev->cu, peer->cu);
}

int cj_device_can_access_peer(cj_device *dev, cj_device *peer)
{
    int can = 0;
    if (peer_check(dev, peer, "cj_device_can_access_peer") != CJ_OK) return 0;
    return peer_can(dev, peer, &can) == CUDA_SUCCESS && can;
}

/* Calm, in the context of `dev`. */
static CUresult peer_open(cj_device *dev, cj_device *peer, const char **cu_call)
{
    const cji_cu *cu = &dev->drv->cu;
    const CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->cu }, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemoryPool pool = NULL;
    *cu_call = "cuCtxEnablePeerAccess";
    CUresult r = cu->cuCtxEnablePeerAccess(peer->ctx, 0);
    if (r == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) r = CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) *cu_call = "cuDeviceGetMemPool", r = cu->cuDeviceGetMemPool(&pool, peer->cu);
    if (r == CUDA_SUCCESS) *cu_call = "cuMemPoolSetAccess", r = cu->cuMemPoolSetAccess(pool, &access, 1); /* a pool's access is its own */
    return r;
}

cj_status cji_peer_in_graph(void *into, cj_device *home, cj_device *other, const char *call)
{
    const char *cu_call = "cuDeviceCanAccessPeer";
    cji_calm calm;
    int can = 0;
    if (home == other) return CJ_OK;
    CUresult r = peer_can(home, other, &can);
    if (r == CUDA_SUCCESS && !can)
        return cji_fail(into, CJ_ENOTSUP, call, "device %d cannot reach the memory of device %d, as a copy in a graph must; copy with cj_copy_peer outside of captures", home->ordinal, other->ordinal);
    if (r == CUDA_SUCCESS) {
        cji_calm_begin(&home->queue, &calm);
        r = peer_open(home, other, &cu_call);
        cji_calm_end(&home->queue, &calm);
    }
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(into, home, r, call, cu_call);
}

cj_status cj_device_enable_peer(cj_device *dev, cj_device *peer)
{
    static const char call[] = "cj_device_enable_peer";
    const char *cu_call = "cuDeviceCanAccessPeer";
    cji_calm calm;
    int can = 0;
    cj_status st = peer_check(dev, peer, call);
    if (st != CJ_OK || dev == peer) return st;
    CUresult r = peer_can(dev, peer, &can);
    if (r == CUDA_SUCCESS && !can)
        return cji_fail(dev, CJ_ENOTSUP, call, "device %d cannot reach the memory of device %d; copy with cj_copy_peer", dev->ordinal, peer->ordinal);
    if (r == CUDA_SUCCESS) {
        cji_calm_begin(&dev->queue, &calm);
        r = peer_open(dev, peer, &cu_call);
        cji_calm_end(&dev->queue, &calm);
    }
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(dev, dev, r, call, cu_call);
}
