/* Attributes of streams. */
#include "sim/stream/sim_stream.h"

/* Those that mean nothing here are kept all the same, as a GPU does. */
static CUresult sim_stream_attribute(const sim_stream *s, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: value->accessPolicyWindow = s->window; break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: value->syncPolicy = s->policy; break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: value->priority = s->priority; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: value->memSyncDomainMap = s->domains; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: value->memSyncDomain = s->domain; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult sim_stream_attribute_set(sim_stream *s, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
    int domains = cji_sim_limit(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: s->window = value->accessPolicyWindow; break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
            return CUDA_ERROR_INVALID_VALUE;
        s->policy = value->syncPolicy;
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: cji_sim_stream_prefer(s, value->priority); break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        if (value->memSyncDomainMap.default_ >= domains || value->memSyncDomainMap.remote >= domains)
            return CUDA_ERROR_INVALID_VALUE;
        s->domains = value->memSyncDomainMap;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        if ((unsigned)value->memSyncDomain > CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE) return CUDA_ERROR_INVALID_VALUE;
        s->domain = value->memSyncDomain;
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuStreamGetAttribute(CUstream h, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    sim_stream *s;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_stream_to_get(h, &s);
    if (!r) r = sim_stream_attribute(s, attribute, value);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamSetAttribute(CUstream h, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
    sim_stream *s;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_stream_to_get(h, &s);
    if (!r) r = sim_stream_attribute_set(s, attribute, value);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamCopyAttributes(CUstream to, CUstream from)
{
    sim_stream *a, *b;
    sim_lock();
    CUresult r = cji_sim_stream_to_get(to, &a);
    if (!r) r = cji_sim_stream_to_get(from, &b);
    if (!r) {
        a->window = b->window;
        a->policy = b->policy;
        a->domains = b->domains;
        a->domain = b->domain;
        cji_sim_stream_prefer(a, b->priority);
    }
    sim_unlock();
    return r;
}
