/* The report as a picture: a row for each stream with its ranges above, the memory of each device below. */
#include "stream/profile/stream_profile.h"

enum { SVG_LEFT = 170, SVG_WIDTH = 1000, SVG_RIGHT = 50, SVG_TOP = 64, SVG_BAR = 20, SVG_RANGE = 13, SVG_GAP = 8,
       SVG_MEMORY = 60, SVG_DEPTH = 4, SVG_TICKS = 10 /* at most */ };

static const char *const svg_colours[CJ_PROFILE_MEMORY + 1] = {
    [CJ_PROFILE_KERNEL] = "#4477aa",    [CJ_PROFILE_COPY_TO_DEVICE] = "#228833", [CJ_PROFILE_COPY_TO_HOST] = "#ccbb44",
    [CJ_PROFILE_COPY] = "#66ccee",      [CJ_PROFILE_FILL] = "#bb88cc",           [CJ_PROFILE_PREFETCH] = "#99ddbb",
    [CJ_PROFILE_HOST_FUNC] = "#ee6677", [CJ_PROFILE_GRAPH] = "#224466",          [CJ_PROFILE_WAIT] = "#dddddd",
    [CJ_PROFILE_WRITE] = "#aa3377",     [CJ_PROFILE_RANGE] = "#f4e3c1",          [CJ_PROFILE_MEMORY] = "#cfe3f5",
};

void cji_profile_put_xml(cji_text *out, const char *s)
{
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '<') cji_text_puts(out, "&lt;");
        else if (c == '>') cji_text_puts(out, "&gt;");
        else if (c == '&') cji_text_puts(out, "&amp;");
        else if (c == '"') cji_text_puts(out, "&quot;");
        else if (c < 0x20 || c >= 0x7f) cji_text_putc(out, '?');
        else cji_text_putc(out, (char)c);
    }
}

typedef struct svg_plot {
    const cji_snap *snap;
    cji_text *out;
    int64_t first, last;
    double *y;       /* of each lane's bar; below 0: it has no row */
    uint32_t *depth; /* ranges above each lane, at most SVG_DEPTH */
    double height;
} svg_plot;

static double svg_x(const svg_plot *v, int64_t t)
{
    const double span = v->last > v->first ? (double)(v->last - v->first) : 1;
    return SVG_LEFT + (double)(t - v->first) / span * SVG_WIDTH;
}

/* Times in the unit that suits the whole. */
static double svg_unit(const svg_plot *v, const char **name)
{
    const int64_t span = v->last - v->first;
    *name = span >= 2000000000 ? "s" : span >= 2000000 ? "ms" : "us";
    return span >= 2000000000 ? 1e9 : span >= 2000000 ? 1e6 : 1e3;
}

/* -- Measuring ----------------------------------------------------------------------------------------------------- */

static bool svg_measure(svg_plot *v)
{
    const cji_snap *snap = v->snap;
    double y = SVG_TOP;
    v->y = cji_alloc((snap->nlanes + 1) * sizeof *v->y);
    v->depth = cji_zalloc((snap->nlanes + 1) * sizeof *v->depth);
    if (!v->y || !v->depth) return false;
    for (size_t i = 0; i < snap->nlanes; i++) v->y[i] = -1;
    v->first = snap->count ? INT64_MAX : 0;
    v->last = snap->count ? INT64_MIN : 0;
    for (size_t i = 0; i < snap->count; i++) {
        const cj_profile_record *r = &snap->record[i];
        if (r->start < v->first) v->first = r->start;
        if (r->end > v->last) v->last = r->end;
        if (r->kind != CJ_PROFILE_MEMORY) v->y[snap->lane[i]] = 0;
        const uint32_t rows = r->depth + 1 < SVG_DEPTH ? r->depth + 1 : SVG_DEPTH;
        if (r->kind == CJ_PROFILE_RANGE && rows > v->depth[snap->lane[i]]) v->depth[snap->lane[i]] = rows;
    }
    for (size_t clock = 0; clock < snap->nclocks; clock++)
        for (size_t i = 0; i < snap->nlanes; i++) {
            if (v->y[i] < 0 || snap->lanes[i].clock != clock) continue;
            v->y[i] = y + v->depth[i] * SVG_RANGE;
            y = v->y[i] + SVG_BAR + SVG_GAP;
        }
    v->height = y;
    return true;
}

/* -- Drawing ------------------------------------------------------------------------------------------------------- */

static void svg_legend(svg_plot *v)
{
    bool used[CJ_PROFILE_MEMORY + 1] = { false };
    double x = SVG_LEFT;
    for (size_t i = 0; i < v->snap->count; i++) used[v->snap->record[i].kind] = true;
    for (int kind = CJ_PROFILE_KERNEL; kind <= CJ_PROFILE_MEMORY; kind++) {
        if (!used[kind]) continue;
        cji_text_printf(v->out, "<rect x=\"%.0f\" y=\"10\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                                "<text x=\"%.0f\" y=\"20\">%s</text>\n",
                        x, svg_colours[kind], x + 16, cji_profile_kind_names[kind]);
        x += 30 + 6.5 * (double)strlen(cji_profile_kind_names[kind]);
    }
}

/* A step of 1, 2 or 5 times a power of ten nanoseconds. */
static int64_t svg_step(int64_t span)
{
    static const int64_t digits[] = { 2, 5, 10 };
    int64_t ten = 1, step = 1;
    for (unsigned i = 0; span / step >= SVG_TICKS; i++) {
        step = ten * digits[i % 3];
        if (i % 3 == 2) ten *= 10;
    }
    return step;
}

static void svg_axis(svg_plot *v, double bottom)
{
    const char *unit;
    const double scale = svg_unit(v, &unit);
    const int64_t step = svg_step(v->last - v->first);
    for (int64_t t = 0; t <= v->last - v->first; t += step) {
        const double x = svg_x(v, v->first + t);
        cji_text_printf(v->out, "<line x1=\"%.1f\" y1=\"48\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#e4e4e4\"/>"
                                "<text x=\"%.1f\" y=\"43\" text-anchor=\"middle\" fill=\"#666666\">%.4g%s%s</text>\n",
                        x, x, bottom, x, (double)t / scale, t ? "" : " ", t ? "" : unit);
    }
}

static void svg_labels(svg_plot *v)
{
    for (size_t i = 0; i < v->snap->nlanes; i++)
        if (v->y[i] >= 0)
            cji_text_printf(v->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">device %d, stream %llu</text>\n",
                            SVG_LEFT - 8, v->y[i] + 14, (int)v->snap->clocks[v->snap->lanes[i].clock].device,
                            (unsigned long long)v->snap->lanes[i].stream);
}

/* Records of one place, drawn as one where they are too narrow to be seen apart. */
typedef struct svg_run { double from, to; size_t count; size_t at; } svg_run;

static void svg_rect(svg_plot *v, const svg_run *run, double y, double height)
{
    const cj_profile_record *r = &v->snap->record[run->at];
    const double width = run->to - run->from < 0.5 ? 0.5 : run->to - run->from;
    cji_text_printf(v->out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"%s><title>",
                    run->from, y, width, height, svg_colours[r->kind],
                    r->kind == CJ_PROFILE_RANGE ? " stroke=\"#b08d45\" stroke-width=\"0.6\"" : "");
    cji_profile_put_xml(v->out, r->name);
    if (run->count > 1) cji_text_printf(v->out, " and %zu more", run->count - 1);
    else cji_text_printf(v->out, ": %.3f us", (double)(r->end - r->start) / 1e3);
    if (run->count == 1 && r->bytes) cji_text_printf(v->out, ", %llu bytes", (unsigned long long)r->bytes);
    cji_text_puts(v->out, "</title></rect>\n");
    const size_t fits = (size_t)(width / 6.6);
    if (run->count > 1 || fits < 3) return;
    char name[64];
    cji_shorten(name, fits + 1 < 8 ? 8 : fits + 1 < sizeof name ? fits + 1 : sizeof name, r->name, strlen(r->name));
    if (strlen(name) > fits) return;
    const bool dark = r->kind == CJ_PROFILE_KERNEL || r->kind == CJ_PROFILE_GRAPH || r->kind == CJ_PROFILE_WRITE ||
                      r->kind == CJ_PROFILE_COPY_TO_DEVICE;
    cji_text_printf(v->out, "<text x=\"%.2f\" y=\"%.1f\"%s pointer-events=\"none\">", run->from + 3,
                    y + height / 2 + 4, dark ? " fill=\"#ffffff\"" : "");
    cji_profile_put_xml(v->out, name);
    cji_text_puts(v->out, "</text>\n");
}

/* A row: the bar of a lane (row -1), or one of its rows of ranges. */
static void svg_row(svg_plot *v, uint32_t lane, int row)
{
    const double height = row < 0 ? SVG_BAR : SVG_RANGE - 1;
    const double y = row < 0 ? v->y[lane] : v->y[lane] - (v->depth[lane] - (unsigned)row) * (double)SVG_RANGE;
    svg_run run = { 0, 0, 0, 0 };
    for (size_t i = 0; i < v->snap->count; i++) {
        const cj_profile_record *r = &v->snap->record[i];
        if (v->snap->lane[i] != lane || r->kind == CJ_PROFILE_MEMORY || r->inside_mark) continue;
        const int own = r->kind != CJ_PROFILE_RANGE ? -1 : r->depth < SVG_DEPTH ? (int)r->depth : SVG_DEPTH - 1;
        if (own != row) continue;
        const double from = svg_x(v, r->start), to = svg_x(v, r->end);
        if (run.count && v->snap->record[run.at].kind == r->kind && to - run.from < 0.7) {
            if (to > run.to) run.to = to;
            run.count++;
            continue;
        }
        if (run.count) svg_rect(v, &run, y, height);
        run = (svg_run){ from, to, 1, i };
    }
    if (run.count) svg_rect(v, &run, y, height);
}

/* The steps of a device's memory, not closer than half a pixel: of those between the largest is drawn. */
static void svg_memory(svg_plot *v, size_t clock, double y)
{
    uint64_t most = 0;
    double x = SVG_LEFT, level = y + SVG_MEMORY;
    for (size_t i = 0; i < v->snap->count; i++)
        if (v->snap->record[i].kind == CJ_PROFILE_MEMORY && v->snap->lanes[v->snap->lane[i]].clock == clock &&
            v->snap->record[i].bytes > most)
            most = v->snap->record[i].bytes;
    cji_text_printf(v->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">device %d, memory</text>"
                            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#666666\">%.4g MiB</text>\n"
                            "<path fill=\"%s\" stroke=\"#5588bb\" stroke-width=\"0.8\" d=\"M%.2f %.2f",
                    SVG_LEFT - 8, y + 12, (int)v->snap->clocks[clock].device, SVG_LEFT - 8, y + 26,
                    (double)most / 1048576, svg_colours[CJ_PROFILE_MEMORY], x, level);
    for (size_t i = 0; i < v->snap->count; i++) {
        const cj_profile_record *r = &v->snap->record[i];
        if (r->kind != CJ_PROFILE_MEMORY || v->snap->lanes[v->snap->lane[i]].clock != clock) continue;
        const double next = y + SVG_MEMORY * (1 - (most ? (double)r->bytes / (double)most : 0));
        const double at = svg_x(v, r->start);
        if (at - x < 0.5 && next > level) continue;
        cji_text_printf(v->out, "L%.2f %.2fL%.2f %.2f", at, level, at, next);
        x = at;
        level = next;
    }
    cji_text_printf(v->out, "L%d %.2fL%d %.2fZ\"/>\n", SVG_LEFT + SVG_WIDTH, level, SVG_LEFT + SVG_WIDTH,
                    y + SVG_MEMORY);
}

static bool svg_has_memory(const svg_plot *v, size_t clock)
{
    for (size_t i = 0; i < v->snap->count; i++)
        if (v->snap->record[i].kind == CJ_PROFILE_MEMORY && v->snap->lanes[v->snap->lane[i]].clock == clock)
            return true;
    return false;
}

void cji_profile_write_svg(const cji_snap *snap, cji_text *out)
{
    svg_plot v = { .snap = snap, .out = out };
    if (!svg_measure(&v)) out->failed = true;
    double bottom = v.height;
    for (size_t clock = 0; clock < snap->nclocks && !out->failed; clock++)
        if (svg_has_memory(&v, clock)) bottom += SVG_MEMORY + SVG_GAP;
    if (!out->failed) {
        cji_text_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
                             "viewBox=\"0 0 %d %.0f\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n"
                             "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                        SVG_LEFT + SVG_WIDTH + SVG_RIGHT, bottom + SVG_GAP, SVG_LEFT + SVG_WIDTH + SVG_RIGHT,
                        bottom + SVG_GAP);
        svg_legend(&v);
        svg_axis(&v, bottom);
        svg_labels(&v);
    }
    for (uint32_t lane = 0; lane < snap->nlanes && !out->failed; lane++)
        for (int row = -1; v.y[lane] >= 0 && row < (int)v.depth[lane]; row++) svg_row(&v, lane, row);
    double y = v.height;
    for (size_t clock = 0; clock < snap->nclocks && !out->failed; clock++) {
        if (!svg_has_memory(&v, clock)) continue;
        svg_memory(&v, clock, y);
        y += SVG_MEMORY + SVG_GAP;
    }
    cji_text_puts(out, "</svg>\n");
    cji_free(v.y, (snap->nlanes + 1) * sizeof *v.y);
    cji_free(v.depth, (snap->nlanes + 1) * sizeof *v.depth);
}
