/* Variables of modules, read and written on a stream by name and type. */
#include "stream/memory/stream_memory.h"

/* The graph retains the module; the bits of its streams are noted otherwise. */
static cj_status retain_module(cj_stream *s, cj_module *mod, const char *call)
{
    bool had = false, added = true;
    cji_used(&mod->used, s->bit);
    cji_capture *c = cji_capture_of(s);
    if (c) {
        added = cji_capture_retains(c, &cji_ref_module, cji_obj_retain(mod), &had);
        if (!added || had) cji_module_drop(mod);
    }
    cji_capture_drop(c);
    return added ? CJ_OK : cji_fail(s, CJ_ENOMEM, call, "no memory to keep the module alive for the graph");
}

static cj_status of_this_device(cj_stream *s, cj_module *mod, const char *call)
{
    cj_status st = cji_check_arg(s, mod, CJI_TAG_MODULE, call, "the module");
    if (st != CJ_OK || mod->dev == s->dev || cji_same_device(&mod->dev->queue, s->queue)) return st;
    return cji_cu_fail_apart(s, mod->dev, s->dev, call, "the module is loaded on device %d, the stream is of device %d",
                             cj_device_ordinal(mod->dev), cj_device_ordinal(s->dev));
}

/* One of `to` and `from`. */
static cj_status copy_module_var(cj_stream *s, cj_module *mod, const char *name, cj_type type, size_t count, void *to,
                                 const void *from, const char *call)
{
    cj_dptr at = { 0 };
    size_t bytes = 0;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = of_this_device(s, mod, call);
    if (st == CJ_OK) st = cji_module_var_typed(s, mod, name, type, count, &at, &bytes, call);
    if (st == CJ_OK && !to && !from) st = cji_fail(s, CJ_EINVAL, call, "the host memory is NULL");
    if (st == CJ_OK) st = retain_module(s, mod, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    const cji_span span = to ? (cji_span){ .to = to, .src = at.addr, .bytes = bytes, .which = "" }
                             : (cji_span){ .dst = at.addr, .from = from, .bytes = bytes, .which = "" };
    return cji_span_run(s, &span, call);
}

cj_status cj_module_var_read(cj_stream *s, cj_module *mod, const char *name, cj_type type, void *dst, size_t count)
{
    return copy_module_var(s, mod, name, type, count, dst, NULL, "cj_module_var_read");
}

cj_status cj_module_var_write(cj_stream *s, cj_module *mod, const char *name, cj_type type, const void *src,
                              size_t count)
{
    return copy_module_var(s, mod, name, type, count, NULL, src, "cj_module_var_write");
}
