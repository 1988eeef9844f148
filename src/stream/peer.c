/* Between devices: access of one to the other, and uses of a device's memory by streams of another.
 *
 * A device's releases wait for its own lanes only.  So a use by a foreign stream is handed on: the device has one stream of its own for guests,
 * which waits, on the device, for the point that the foreign stream has reached; that lane is the memory's user. */
#include "stream/streams.h"

/* -- Guests -------------------------------------------------------------------------------------------------------------- */

/* The side's stream for guests, made at first use; NULL without memory. */
static cji_lane *guest_lane(cji_side *side)
{
    cji_calm calm;
    pthread_mutex_lock(&side->guest_lock);
    if (!side->guest) {
        CUstream raw = NULL;
        cji_calm_begin(side->hub, &calm);
        if (side->hub->cu->cuStreamCreateWithPriority(&raw, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS) {
            side->guest = cji_lane_open(side->hub, raw);
            if (!side->guest) side->hub->cu->cuStreamDestroy(raw);
        }
        cji_calm_end(side->hub, &calm);
    }
    cji_lane *lane = side->guest;
    pthread_mutex_unlock(&side->guest_lock);
    return lane;
}

void cji_guest_free(cji_side *side)
{
    if (side->guest) {
        CUstream raw = side->guest->raw;
        cji_lane_close(side->hub, side->guest);
        side->hub->cu->cuStreamDestroy(raw);
    }
    pthread_mutex_destroy(&side->guest_lock);
}

cj_status cji_guest_visit(cji_side *side, cj_stream *s, uint64_t *bit, void *into, const char *call)
{
    const char *doing;
    cji_ctx ctx;
    cji_lane *lane = guest_lane(side);
    if (!lane) return cji_fail(into, CJ_ENOMEM, call, "no memory to note the use of another device's memory");
    cj_status st = cji_ctx_begin(into, s->dev, &ctx, call);
    if (st != CJ_OK) return st;
    CUresult r = cji_stream_point(s, lane->raw, &doing);
    cji_ctx_leave(s->dev, &ctx);
    *bit = lane->bit;
    return r == CUDA_SUCCESS ? CJ_OK : cji_refused(into, s->dev, r, call, doing);
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
static CUresult peer_open(cj_device *dev, cj_device *peer, const char **doing)
{
    const cji_cu *cu = &dev->drv->cu;
    const CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->cu }, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemoryPool pool = NULL;
    *doing = "cuCtxEnablePeerAccess";
    CUresult r = cu->cuCtxEnablePeerAccess(peer->ctx, 0);
    if (r == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) r = CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) *doing = "cuDeviceGetMemPool", r = cu->cuDeviceGetMemPool(&pool, peer->cu);
    if (r == CUDA_SUCCESS) *doing = "cuMemPoolSetAccess", r = cu->cuMemPoolSetAccess(pool, &access, 1); /* a pool's access is its own */
    return r;
}

cj_status cji_peer_in_graph(void *into, cj_device *home, cj_device *other, const char *call)
{
    const char *doing = "cuDeviceCanAccessPeer";
    cji_calm calm;
    int can = 0;
    if (home == other) return CJ_OK;
    CUresult r = peer_can(home, other, &can);
    if (r == CUDA_SUCCESS && !can)
        return cji_fail(into, CJ_ENOTSUP, call, "device %d cannot reach the memory of device %d, as a copy in a graph must; copy with cj_copy_peer outside of captures", home->ordinal, other->ordinal);
    if (r == CUDA_SUCCESS) {
        cji_calm_begin(&home->hub, &calm);
        r = peer_open(home, other, &doing);
        cji_calm_end(&home->hub, &calm);
    }
    return r == CUDA_SUCCESS ? CJ_OK : cji_refused(into, home, r, call, doing);
}

cj_status cj_device_enable_peer(cj_device *dev, cj_device *peer)
{
    static const char call[] = "cj_device_enable_peer";
    const char *doing = "cuDeviceCanAccessPeer";
    cji_calm calm;
    int can = 0;
    cj_status st = peer_check(dev, peer, call);
    if (st != CJ_OK || dev == peer) return st;
    CUresult r = peer_can(dev, peer, &can);
    if (r == CUDA_SUCCESS && !can)
        return cji_fail(dev, CJ_ENOTSUP, call, "device %d cannot reach the memory of device %d; copy with cj_copy_peer", dev->ordinal, peer->ordinal);
    if (r == CUDA_SUCCESS) {
        cji_calm_begin(&dev->hub, &calm);
        r = peer_open(dev, peer, &doing);
        cji_calm_end(&dev->hub, &calm);
    }
    return r == CUDA_SUCCESS ? CJ_OK : cji_refused(dev, dev, r, call, doing);
}
