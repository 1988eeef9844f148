# Writes a document anew: what stands between <!-- begin NAME --> and <!-- end NAME --> comes from figures: those of the
# device that the limits are for, and in the section `others` those of another one.
#   figures_document.awk tests/oracle/kernel_speed.txt tests/oracle/kernel_speed_others.txt bench/limits DOCUMENT
FILENAME == ARGV[1] { cases = figure(known, seen, order, value, unit, cases); next }
FILENAME == ARGV[2] { others = figure(other_known, other_seen, other_order, other, other_unit, others); next }
FILENAME == ARGV[3] { if ($1 !~ /^#/) limit[$1] = $2 ($3 == "least" ? "" : " at most"); next }
/^<!-- begin / { print; print ""; section($3); skipping = 1; next }
/^<!-- end / { print ""; skipping = 0 }
!skipping

# -- Figures ----------------------------------------------------------------------------------------------------------

# A line of a record, of which `n` cases are known; returns how many are now.
function figure(known, seen, order, value, unit, n,    at, part)
{
    if ($1 ~ /^#/) return n
    if ($1 !~ /^kernels\./) { known[$1] = substr($0, length($1) + 2); return n }
    at = match($1, /\.[a-z_]*$/)
    part = substr($1, at + 1)
    at = substr($1, 1, at - 1)
    if (!(at in seen)) { seen[at] = 1; order[++n] = at }
    value[at, part] = $2
    if (part == "ours") unit[at] = $3
    return n
}

function short(at) { return substr(at, length("kernels.") + 1) }
function percent(x) { return x == "" ? "" : sprintf("%.1f %%", x * 100) }
function limit_of(at) { return limit[at ".ratio"] }
function is_below(at) { return limit_of(at) != "" && value[at, "ratio"] < limit_of(at) + 0 }
function cell(x) { return x == "" ? "-" : x }

# -- Tables -----------------------------------------------------------------------------------------------------------

function section(what)
{
    if (what == "figures") { source(known); figures("GB/s"); figures("TFLOP/s"); below(); return }
    if (what == "others") { source(other_known); other_figures(); return }
    if (what == "summary") { source(known); summary(); return }
    print "figures_document.awk: no section " what >"/dev/stderr"
    exit 1
}

function source(of)
{
    printf "%s on an %s, beside PyTorch %s:\n\n", of["runs"] == 1 ? "One run" : "Medians of " of["runs"] " runs",
           of["device"], of["torch.version"]
}

function other_figures(    i, at)
{
    print "| case | ours | PyTorch, or our own | ratio |\n| --- | --- | --- | --- |"
    for (i = 1; i <= others; i++) {
        at = other_order[i]
        printf "| `%s` | %s %s | %s | %.3f |\n", short(at), other[at, "ours"], other_unit[at], cell(other[at, "peer"]),
               other[at, "ratio"]
    }
}

function figures(of,    i, at)
{
    printf "| case | %s | spread | PyTorch, or our own | spread | ratio | limit |\n| --- | --- | --- | --- | --- | --- | --- |\n", of
    for (i = 1; i <= cases; i++) {
        at = order[i]
        if (unit[at] != of) continue
        printf "| `%s` | %s | %s | %s | %s | %.3f | %s |\n", short(at), value[at, "ours"],
               percent(value[at, "spread"]), cell(value[at, "peer"]), cell(percent(value[at, "peer_spread"])),
               value[at, "ratio"], cell(limit_of(at))
    }
    print ""
}

function below(    i, at, n, all)
{
    for (i = 1; i <= cases; i++) {
        all += limit_of(order[i]) != ""
        n += is_below(order[i])
    }
    if (!n) { print "All ratios are within their limits."; return }
    printf "%d of %d ratios are below their limits:\n\n", n, all
    for (i = 1; i <= cases; i++) {
        at = order[i]
        if (is_below(at)) printf "- `%s`: %.3f, the limit is %s\n", short(at), value[at, "ratio"], limit_of(at)
    }
}

# Products by type, other kernels by name.
function group_of(at,    word)
{
    split(short(at), word, ".")
    return word[1] == "gemm" ? word[1] " " word[2] : word[1]
}

function summary(    i, at, g, groups, name, n, least, most, low, ratio)
{
    for (i = 1; i <= cases; i++) {
        at = order[i]
        g = group_of(at)
        if (!(g in n)) { name[++groups] = g; least[g] = most[g] = value[at, "ratio"] }
        n[g]++
        if (value[at, "ratio"] < least[g]) least[g] = value[at, "ratio"]
        if (value[at, "ratio"] > most[g]) most[g] = value[at, "ratio"]
        if (is_below(at)) low[g] = low[g] (low[g] == "" ? "" : ", ") sprintf("`%s`", short(at))
    }
    print "| kernels | cases | ratio | below their limit |"
    print "| --- | --- | --- | --- |"
    for (i = 1; i <= groups; i++) {
        g = name[i]
        ratio = sprintf(least[g] == most[g] ? "%.3f" : "%.3f to %.3f", least[g], most[g])
        printf "| %s | %d | %s | %s |\n", g, n[g], ratio, low[g] == "" ? "none" : low[g]
    }
}
