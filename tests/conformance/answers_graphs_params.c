/* Parameters of nodes, and of an executable's nodes, that are changed (see answers_graphs.h). */
#include "answers_graphs.h"

static an_site *const site = &an_gr.site;
static an_recipe *const plan = an_gr.plan;
static CUgraphNode *const node = an_gr.node;

void an_gr_attach(void)
{
    if (!cu.cuInit) abi_load();
    if (cu.cuCtxGetCurrent(&abi_ctx) || !abi_ctx) tap_bail("no context");
}

void an_gr_set_params(void)
{
    unsigned a = an_gr_node();
    CUDA_KERNEL_NODE_PARAMS_v2 k;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_MEMCPY3D copy;
    CUDA_HOST_NODE_PARAMS host;
    if (a == AN_NODES) return;
    an_kind was = plan[a].kind, as = an_chance(80) ? was : (an_kind)an_below(5);
    unsigned old = plan[a].n, n = 1 + an_below(900);
    if (was == AN_COPY) n = n / 4 * 4 + old % 4;
    if (was == AN_IF || was == AN_CHILD || was == AN_BATCH || was == AN_ALLOC || was == AN_FREE || was > AN_BATCH)
        return;
    plan[a].n = n;
    plan[a].kind = as;
    k = an_kernel_params(site, &plan[a], a);
    fill = an_fill_params(site, &plan[a], a);
    copy = an_copy_params(site, &plan[a], a);
    host = (CUDA_HOST_NODE_PARAMS){ an_noted, plan[a].note };
    plan[a].kind = was;
    int st;
    an_line("node %u, %s, becomes %s %u:", a, an_kind_names[was], an_kind_names[as], n);
    switch (as) {
    case AN_STEP: case AN_LEAP: st = an_status((int)cu.cuGraphKernelNodeSetParams(node[a], &k)); break;
    case AN_FILL: st = an_status((int)cu.cuGraphMemsetNodeSetParams(node[a], &fill)); break;
    case AN_COPY: st = an_status((int)cu.cuGraphMemcpyNodeSetParams(node[a], &copy)); break;
    case AN_HOST: st = an_status((int)cu.cuGraphHostNodeSetParams(node[a], &host)); break;
    case AN_RECORD: st = an_status((int)cu.cuGraphEventRecordNodeSetEvent(node[a], site->event[n & 1])); break;
    case AN_WAIT: st = an_status((int)cu.cuGraphEventWaitNodeSetEvent(node[a], site->event[n & 1])); break;
    default: st = 1;
    }
    if (st || as == AN_HOST) plan[a].n = old;
    else if (was <= AN_LEAP) plan[a].kind = as;
}

void an_gr_exec_params(void)
{
    const an_stranger *x = an_other_context();
    unsigned a = an_gr_node();
    CUDA_KERNEL_NODE_PARAMS_v2 k;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_MEMCPY3D copy;
    CUDA_HOST_NODE_PARAMS host;
    if (a == AN_NODES || !an_gr.exec || !(an_gr.in_exec >> a & 1)) return;
    an_kind was = plan[a].kind, as = an_chance(75) ? was : (an_kind)an_below(8);
    unsigned old = plan[a].n, n = 1 + an_below(900), wrong = an_below(100);
    if (was == AN_COPY && !an_chance(10)) n = n / 4 * 4 + old % 4;
    plan[a].n = n;
    plan[a].kind = as;
    k = an_kernel_params(site, &plan[a], a);
    fill = an_fill_params(site, &plan[a], a);
    copy = an_copy_params(site, &plan[a], a);
    host = (CUDA_HOST_NODE_PARAMS){ an_noted, plan[a].note };
    plan[a].kind = was;
    plan[a].n = old;
    if (wrong < 5) { k.func = x->f; fill.elementSize = 2; copy.WidthInBytes = 8; }
    if (wrong >= 5 && wrong < 8) { k.blockDimX = 4096; fill.height = 2; fill.pitch = 4; copy.Height = 2; }
    an_line("executable's node %u, %s, becomes %s %u%s:", a, an_kind_names[was], an_kind_names[as], n,
            wrong < 5   ? " wrongly"
            : wrong < 8 ? " too large"
                        : "");
    switch (as) {
    case AN_STEP: case AN_LEAP: an_status((int)cu.cuGraphExecKernelNodeSetParams(an_gr.exec, node[a], &k)); break;
    case AN_FILL:
        if (wrong >= 5 && wrong < 8) { an_more(" not asked"); break; }
        an_status((int)cu.cuGraphExecMemsetNodeSetParams(an_gr.exec, node[a], &fill,
                                                         wrong >= 8 && wrong < 12 ? x->ctx : abi_ctx));
        break;
    case AN_COPY:
        if (wrong < 8) { an_more(" not asked"); break; }
        an_status((int)cu.cuGraphExecMemcpyNodeSetParams(an_gr.exec, node[a], &copy, abi_ctx));
        break;
    case AN_HOST: an_status((int)cu.cuGraphExecHostNodeSetParams(an_gr.exec, node[a], &host)); break;
    case AN_RECORD:
        an_status((int)cu.cuGraphExecEventRecordNodeSetEvent(an_gr.exec, node[a], site->event[n & 1]));
        break;
    case AN_WAIT: an_status((int)cu.cuGraphExecEventWaitNodeSetEvent(an_gr.exec, node[a], site->event[n & 1])); break;
    case AN_CHILD:
        an_small_for(site, a), an_status((int)cu.cuGraphExecChildGraphNodeSetParams(an_gr.exec, node[a], site->small));
        break;
    default: an_more(" not asked");
    }
}

void an_gr_enabled(void)
{
    unsigned a = an_gr_node(), on = 9;
    if (a == AN_NODES || !an_gr.exec || !(an_gr.in_exec >> a & 1) || !cu.cuGraphNodeSetEnabled) return;
    if (an_chance(60)) {
        on = an_below(3);
        AN(cuGraphNodeSetEnabled(an_gr.exec, node[a], on), "node %u, %s, enabled %u", a, an_kind_names[plan[a].kind],
           on);
    } else {
        AN(cuGraphNodeGetEnabled(an_gr.exec, node[a], &on), "node %u, %s, enabled?", a, an_kind_names[plan[a].kind]);
        an_more(" %u", on);
    }
}

void an_gr_kernel_attribute(void)
{
    static const int ids[] = { 2, 3, 4, 5, 8, 8, 8, 9, 10, 14, 0, 99 };
    unsigned a = an_gr_node(), b = an_gr_node();
    int id = AN_PICK(ids);
    CUlaunchAttributeValue v;
    memset(&v, 0, sizeof v);
    if (a == AN_NODES) return;
    switch (an_below(4)) {
    case 0:
        AN(cuGraphKernelNodeCopyAttributes(node[a], node[b]), "attributes of node %u, %s, from %u, %s", a,
           an_kind_names[plan[a].kind], b, an_kind_names[plan[b].kind]);
        break;
    case 1:
        if (id != 8 && id != 10) break;
        v.priority = id == 8 ? -(int)an_below(7) : (int)an_below(2);
        AN(cuGraphKernelNodeSetAttribute(node[a], (CUkernelNodeAttrID)id, &v),
           "attribute %d of node %u, %s, becomes %d", id, a, an_kind_names[plan[a].kind], v.priority);
        break;
    default:
        if (!AN(cuGraphKernelNodeGetAttribute(node[a], (CUkernelNodeAttrID)id, &v), "attribute %d of node %u, %s", id,
                a, an_kind_names[plan[a].kind])) {
            if (id == 8 || id == 2 || id == 10) an_more(" %d", v.priority);
            if (id == 4) an_more(" %u %u %u", v.clusterDim.x, v.clusterDim.y, v.clusterDim.z);
        }
    }
}
