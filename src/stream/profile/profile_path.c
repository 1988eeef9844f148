/* The critical path: from the operation that ends last, back over what each one had to wait for.
 *
 * An operation waits for the one before it in its stream.  A wait that took time ended because a stream that it waited
 * for came to its end: the path continues there, with the last operation that had ended by then.  A wait is no
 * operation of the path. */
#include "stream/profile/stream_profile.h"

/* The clock of the device ticks every half microsecond. */
enum { PATH_TICK_NS = 2000 };

/* Operations of each lane in the order of their starts: index[first[lane]] to index[first[lane + 1] - 1]. */
typedef struct path_lanes { const cji_snap *snap; size_t *index, *first; } path_lanes;

static bool path_lanes_make(path_lanes *l, const cji_snap *snap)
{
    *l = (path_lanes){ .snap = snap };
    l->index = cji_alloc((snap->count + 1) * sizeof *l->index);
    l->first = cji_zalloc((snap->nlanes + 2) * sizeof *l->first);
    if (!l->index || !l->first) return false;
    for (size_t i = 0; i < snap->count; i++)
        if (cji_is_operation(&snap->record[i])) l->first[snap->lane[i] + 2]++;
    for (size_t i = 2; i < snap->nlanes + 2; i++) l->first[i] += l->first[i - 1];
    for (size_t i = 0; i < snap->count; i++)
        if (cji_is_operation(&snap->record[i])) l->index[l->first[snap->lane[i] + 1]++] = i;
    return true;
}

static void path_lanes_free(path_lanes *l)
{
    cji_free(l->index, (l->snap->count + 1) * sizeof *l->index);
    cji_free(l->first, (l->snap->nlanes + 2) * sizeof *l->first);
}

/* The last operation of the lane that had ended by `end` and is before record `limit`; SIZE_MAX: there is none. */
static size_t path_ended(const path_lanes *l, size_t lane, int64_t end, size_t limit)
{
    size_t low = l->first[lane], high = l->first[lane + 1], begin = low;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (l->index[mid] < limit && l->snap->record[l->index[mid]].end <= end) low = mid + 1;
        else high = mid;
    }
    return low > begin ? l->index[low - 1] : SIZE_MAX;
}

/* What the wait `at` waited for in another lane; SIZE_MAX: not known, or it did not take time. */
static size_t path_awaited(const path_lanes *l, size_t at)
{
    const cji_snap *snap = l->snap;
    const cj_profile_record *wait = &snap->record[at];
    size_t found = SIZE_MAX;
    if (wait->end - wait->start < PATH_TICK_NS) return SIZE_MAX;
    for (size_t lane = 0; lane < snap->nlanes; lane++) {
        if (lane == snap->lane[at] || (wait->from && snap->lanes[lane].stream != wait->from)) continue;
        const size_t ended = path_ended(l, lane, wait->end + PATH_TICK_NS, SIZE_MAX);
        if (ended != SIZE_MAX && (found == SIZE_MAX || snap->record[ended].end > snap->record[found].end))
            found = ended;
    }
    /* what ended before the wait began is not what held it */
    return found != SIZE_MAX && snap->record[found].end >= wait->start ? found : SIZE_MAX;
}

/* The operation of the lane before record `at`. */
static size_t path_before(const path_lanes *l, size_t at)
{
    return path_ended(l, l->snap->lane[at], INT64_MAX, at);
}

static size_t path_end(const cji_snap *snap)
{
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < snap->count; i++)
        if (cji_is_busy(&snap->record[i]) && (last == SIZE_MAX || snap->record[i].end > snap->record[last].end))
            last = i;
    return last;
}

size_t *cji_profile_critical(const cji_snap *snap, size_t *count, int64_t *ns, bool *ok)
{
    path_lanes lanes;
    size_t *path = NULL, n = 0, cap = 0;
    bool *seen = cji_zalloc(snap->count + 1); /* times that are nearly equal may lead back */
    *ok = path_lanes_make(&lanes, snap) && seen;
    *ns = 0;
    for (size_t at = *ok ? path_end(snap) : SIZE_MAX; at != SIZE_MAX && *ok && !seen[at];) {
        const cj_profile_record *r = &snap->record[at];
        size_t next = SIZE_MAX;
        seen[at] = true;
        if (r->kind == CJ_PROFILE_WAIT) {
            next = path_awaited(&lanes, at);
        } else {
            *ok = cji_grow(&path, &cap, n + 1, sizeof *path);
            if (!*ok) break;
            path[n++] = at;
            *ns += r->end - r->start;
        }
        at = next != SIZE_MAX ? next : path_before(&lanes, at);
    }
    path_lanes_free(&lanes);
    cji_free(seen, snap->count + 1);
    size_t *fit = *ok && n ? cji_alloc(n * sizeof *fit) : NULL;
    if (n && !fit) *ok = false;
    for (size_t i = 0; i < n && fit; i++) fit[i] = path[n - 1 - i];
    *count = fit ? n : 0;
    cji_free(path, cap * sizeof *path);
    return fit;
}

size_t cj_profile_path(cj_profile *p, cj_profile_record *out, size_t max)
{
    static const char call[] = "cj_profile_path";
    cji_snap snap;
    size_t n;
    int64_t ns;
    bool ok;
    if (cji_check(p, CJI_TAG_PROFILE, call) != CJ_OK) return 0;
    if (!out && max) return cji_fail(p, CJ_EINVAL, call, "room for %zu records at NULL", max), 0;
    if (cji_snap_take(p, NULL, &snap, call) != CJ_OK) return 0;
    size_t *path = cji_profile_critical(&snap, &n, &ns, &ok);
    if (!ok) cji_fail(p, CJ_ENOMEM, call, "no memory for the path");
    for (size_t i = 0; i < n && i < max; i++) out[i] = snap.record[path[i]];
    cji_free(path, n * sizeof *path);
    cji_snap_free(&snap);
    return n;
}
