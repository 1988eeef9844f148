/* A coordinator as text: the picture for Graphviz, cycles that were rejected, deadlocks. */
#include "stream/coordinate/coord.h"

/* -- The picture --------------------------------------------------------------------------------------------------- */

/* ORDER cj_task_kind */
static const struct { const char *name, *colour; } text_kinds[] = {
    { "kernel", "#cfe2f3" },    { "transfer", "#d9ead3" },   { "sync", "#fff2cc" },    { "reduce", "#ead1dc" },
    { "broadcast", "#d9d2e9" }, { "all-reduce", "#f4cccc" }, { "task barrier", "#d0d0d0" }, { "group", "#f8f8f8" },
};

/* ORDER cj_task_state */
static const char *const text_states[] = { "",         "waiting", "ready",  "begun",    "enqueued",
                                           "done",     "failed",  "poisoned", "cancelled" };

static void text_escaped(cji_text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') cji_text_putc(out, '\\');
        cji_text_putc(out, *s);
    }
}

static void text_node(cji_text *out, const cji_task *t, int indent)
{
    cji_text_printf(out, "%*st%llu [label=\"", indent, "", (unsigned long long)t->number);
    if (t->what) text_escaped(out, t->what);
    else cji_text_printf(out, "%llu", (unsigned long long)t->number);
    const int state = cji_task_is_skipped(t) ? t->result : t->state;
    cji_text_printf(out, "\\n%s, %s", text_kinds[t->kind].name, text_states[state]);
    if (t->stream != CJI_COORD_NO_STREAM) cji_text_printf(out, "\\nstream %llu", (unsigned long long)t->stream_id);
    cji_text_printf(out, "\", fillcolor=\"%s\"%s];\n", text_kinds[t->kind].colour,
                    state >= CJ_TASK_FAILED ? ", color=\"#cc0000\", penwidth=2" : "");
}

/* The tasks of a group (CJI_NO_TASK: of none), groups as clusters. */
static void text_scope(cj_coord *c, uint32_t group, int depth)
{
    const cji_tasks *g = &c->tasks;
    for (size_t k = 0; k < g->blocks * CJI_TASK_BLOCK; k++) {
        const cji_task *t = cji_task_at(g, (uint32_t)k);
        if (!t->state || t->hidden || t->group != group) continue;
        const int indent = 4 + 2 * depth;
        if (t->members && depth < 24) {
            cji_text_printf(&c->dot, "%*ssubgraph cluster_%llu {\n%*sstyle=rounded; label=\"", indent, "",
                            (unsigned long long)t->number, indent + 2, "");
            text_escaped(&c->dot, t->what ? t->what : text_kinds[t->kind].name);
            cji_text_puts(&c->dot, "\";\n");
            text_scope(c, (uint32_t)k, depth + 1);
            text_node(&c->dot, t, indent + 2);
            cji_text_printf(&c->dot, "%*s}\n", indent, "");
        } else text_node(&c->dot, t, indent);
    }
}

static void text_line(cji_text *out, uint64_t pred, uint64_t succ, uint32_t flags)
{
    cji_text_printf(out, "    t%llu -> t%llu%s;\n", (unsigned long long)pred, (unsigned long long)succ,
                    flags & CJI_EDGE_ORDER ? " [style=dashed]" : "");
}

/* Edges that are left. */
static void text_edges(cj_coord *c)
{
    const cji_tasks *g = &c->tasks;
    for (size_t k = 0; k < g->blocks * CJI_TASK_BLOCK; k++) {
        const cji_task *t = cji_task_at(g, (uint32_t)k);
        for (uint32_t e = t->state ? t->in : CJI_NO_TASK; e != CJI_NO_TASK; e = cji_task_edge_at(g, e)->next_in) {
            const uint32_t p = cji_task_edge_at(g, e)->pred;
            if (p == CJI_NO_TASK || t->hidden || cji_task_at(g, p)->hidden) continue;
            text_line(&c->dot, cji_task_at(g, p)->number, t->number, cji_task_edge_at(g, e)->flags);
        }
    }
}

static const char *text_finish(cj_coord *c, cji_text *t, const char *call)
{
    if (!t->failed) return cji_text_str(t);
    cji_text_free(t);
    *t = (cji_text){ 0 };
    cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    return "";
}

static void text_begin(cji_text *t)
{
    t->n = 0;
    t->failed = false;
}

const char *cj_coord_dot(cj_coord *c)
{
    static const char call[] = "cj_coord_dot";
    if (cji_check(c, CJI_TAG_COORD, call) != CJ_OK) return "";
    cji_coord_lock(c);
    text_begin(&c->dot);
    cji_text_puts(&c->dot, "digraph tasks {\n    node [shape=box, style=filled, fontname=\"sans-serif\"];\n");
    text_scope(c, CJI_NO_TASK, 0);
    for (size_t k = 0; k < c->tasks.lines; k++)
        text_line(&c->dot, c->tasks.line[k].pred, c->tasks.line[k].succ, c->tasks.line[k].flags);
    if (!c->tasks.keep) text_edges(c);
    cji_text_puts(&c->dot, "}\n");
    const char *text = text_finish(c, &c->dot, call);
    cji_coord_unlock(c);
    return text;
}

/* -- Lists --------------------------------------------------------------------------------------------------------- */

/* The latest of a ring of messages first. */
static void text_ring(cji_text *out, const char (*ring)[480], uint64_t count)
{
    for (uint64_t k = 0; k < count && k < CJI_TASK_CYCLES; k++)
        cji_text_printf(out, "%s\n", ring[(count - 1 - k) % CJI_TASK_CYCLES]);
}

const char *cj_coord_cycles(cj_coord *c)
{
    static const char call[] = "cj_coord_cycles";
    if (cji_check(c, CJI_TAG_COORD, call) != CJ_OK) return "";
    cji_coord_lock(c);
    text_begin(&c->cycles);
    text_ring(&c->cycles, (const char (*)[480])c->tasks.cycle, c->tasks.cycles);
    const char *text = text_finish(c, &c->cycles, call);
    cji_coord_unlock(c);
    return text;
}

/* What cannot end before the caller acts. */
static void text_held(cj_coord *c, const cji_task *t, uint32_t i)
{
    char what[160];
    cji_line l = { what, sizeof what, 0 };
    const bool begun = t->state == CJ_TASK_BEGUN && t->pulled, pull = t->state == CJ_TASK_READY && t->pull;
    const bool open = t->members && t->members->open && !cji_task_ended(t);
    if (!begun && !pull && !open) return;
    cji_task_say(&c->tasks, &l, i);
    cji_text_printf(&c->deadlocks_text, "task %s %s\n", what,
                    begun ? "has begun and is not completed" : pull ? "is ready, for cj_coord_next"
                                                                    : "is a group that is open");
}

const char *cj_coord_deadlocks(cj_coord *c)
{
    static const char call[] = "cj_coord_deadlocks";
    if (cji_check(c, CJI_TAG_COORD, call) != CJ_OK) return "";
    cji_coord_lock(c);
    text_begin(&c->deadlocks_text);
    text_ring(&c->deadlocks_text, (const char (*)[480])c->deadlock, c->deadlocks);
    for (size_t k = 0; k < c->tasks.blocks * CJI_TASK_BLOCK; k++) {
        const cji_task *t = cji_task_at(&c->tasks, (uint32_t)k);
        if (t->state) text_held(c, t, (uint32_t)k);
    }
    const char *text = text_finish(c, &c->deadlocks_text, call);
    cji_coord_unlock(c);
    return text;
}
