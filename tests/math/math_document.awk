# Writes docs/mathematics.md anew: what stands between <!-- begin NAME --> and <!-- end NAME --> comes from facts.
#   math_document.awk FACTS DOCUMENT
# A fact is a line; the first word says what it is:
#   group TITLE                        of math.h; the names behind it are of that group
#   name FUNCTION
#   error FUNCTION TYPE FORM UNIT GREATEST LIMIT VALUES [INTERVAL, or NOT_NEAREST]     by the tests on the CPU device:
#                                      ulp, or abs and rel in units of 2^-24 and 2^-53; LIMIT is what CUDA states, or -
#   gpu ...                            a line of tests/oracle/math_errors.txt
#   speed ...                          a line of tests/oracle/math_speed.txt, which is what bench/math prints on a GPU
#   own FUNCTION TYPE PTX SASS PATH    a line of own_counts.txt
#   cuda FUNCTION TYPE OPERANDS PTX SASS [sides]    a line of cuda_counts.txt
#   form FUNCTION_TYPE                 a function of the module
#   special FUNCTION VALUES
FILENAME != document_name() { fact(); next }
/^<!-- begin / { print; print ""; written[$3]++; section($3); skipping = 1; next }
/^<!-- end / { print ""; skipping = 0 }
!skipping

function document_name() { return ARGV[ARGC - 1] }

# -- Facts ------------------------------------------------------------------------------------------------------------

function fact(    key, i)
{
    if ($1 == "group") { group = substr($0, 7); return }
    if ($1 == "name") {
        if (!($2 in group_of)) { order[++names] = $2; group_of[$2] = group }
        return
    }
    if ($1 == "special") { special[$2] = substr($0, length($1 " " $2) + 2); return }
    if ($1 == "form") { called[++ncalled] = $2; is_called[$2] = 1; return }
    if ($1 == "speed") { speed_fact(); return }
    key = $2 SUBSEP $3
    if ($1 == "own") { ptx[key] = $4; sass[key] = $5; path[key] = $6 }
    if ($1 == "cuda") { cuda_ptx[key] = $5; cuda_sass[key] = $6; sides[key] = $7 == "sides" }
    key = key SUBSEP $4
    if ($1 == "error" && (!(key in worst) || $6 + 0 > worst[key] + 0)) {
        unit[key] = $5; worst[key] = $6; values[key] = $8
        if ($7 != "-" || !(key in limit)) limit[key] = $7
        off[key] = $9
        for (i = 10; i <= NF; i++) off[key] = off[key] " " $i
    }
    if ($1 == "gpu") gpu_fact(key)
}

# Both results of a function make one row: the greater error.  What MPFR judged is the error where CUDA's function of
# double was the reference; in f64 that alone.
function gpu_fact(key,    e)
{
    if ($6 != "H100") return
    e = $7 ~ /^cuda/ && ($3 == "f64" || $15 != "-") ? $15 : $10
    if (e == "-") return
    if ($9 == "equal") e = 0
    if ($9 == "abs" || $9 == "rel") e = sprintf("%.2f", e * ($3 == "f64" ? 2 ^ 53 : 2 ^ 24))
    gpu_seen = 1
    if (!(key in gpu_worst) || e + 0 > gpu_worst[key] + 0) {
        gpu_worst[key] = e; gpu_at[key] = $11; gpu_unit[key] = $9
    }
    if (!(key in gpu_values) || $8 + 0 > gpu_values[key] + 0) gpu_values[key] = $8
}

# Three digits; a number that has more before its point keeps all of these.
function figure(x) { return x < 1000 ? sprintf("%.3g", x) : sprintf("%d", x) }

function speed_fact(    part, key)
{
    if ($2 == "device") gpu_name = $4
    if (split($2, part, ".") != 4) return
    speed_seen = 1
    key = part[1] SUBSEP part[2] SUBSEP "accurate"
    if (part[3] == "ordinary" && part[4] == "ours") speed[key] = figure($3)
    if (part[3] == "ordinary" && part[4] == "cuda") cuda_speed[key] = figure($3)
    if (part[4] == "ratio" && (!(key in least) || $3 < least[key])) least[key] = $3 + 0
}

# -- Cells ------------------------------------------------------------------------------------------------------------

function count_of(n,    e)
{
    if (n == 4294967296) return "all"
    if (n == 65536) return "all"
    for (e = 0; n >= 10; e++) n /= 10
    return (n == 1 ? "" : sprintf("%.3g · ", n)) "10^" e
}

function epsilon(type) { return type == "f64" ? "2^-53" : "2^-24" }

function error_cell(key, type,    w, u)
{
    w = key in gpu_worst ? gpu_worst[key] : worst[key]
    u = key in gpu_worst ? gpu_unit[key] : unit[key]
    if (u == "ulp" || u == "equal") return w + 0 == 0 ? "0" : w
    return w " · " epsilon(type) (u == "abs" ? " absolute" : " relative")
}

function tried_cell(key)
{
    if (key in gpu_worst) return count_of(gpu_values[key]) ", H100"
    return count_of(values[key]) ", CPU device"
}

function at_cell(key,    at)
{
    at = key in gpu_worst ? gpu_at[key] : "-"
    gsub(/,/, ", ", at)
    return at
}

function or_none(x) { return x == "" ? "-" : x }

function sass_cell(key) { return or_none(sass[key]) (sides[key] ? " (" path[key] ")" : "") }

function speed_cells(key)
{
    if (!speed_seen) return ""
    return " " or_none(speed[key]) " | " or_none(cuda_speed[key]) " | " (key in least ? sprintf("%.2f", least[key]) : "-") " |"
}

# -- Sections ---------------------------------------------------------------------------------------------------------

function section(what)
{
    if (what == "functions") functions_table()
    else if (what == "fast" || what == "rounded") form_table(what)
    else if (what == "halves") halves_table()
    else if (what == "forms") forms_list()
    else if (what == "special") special_table()
    else if (what == "columns") columns_text()
    else print "no facts of " what > "/dev/stderr"
}

function columns_text()
{
    if (gpu_seen) fold("Behind the arguments: the one with the greatest error.")
    if (speed_seen)
        fold("Last, 10^9 results a second on an " gpu_name " for arguments of the ordinary range, beside CUDA's function in the " \
             "same run, and the least ratio of the two over all distributions of bench/math.")
    if (!gpu_seen && !speed_seen) fold("Nothing in these tables is of a GPU yet.")
}

function functions_table(    i, k, t, types, key, all, title)
{
    split("f32 f64", types, " ")
    for (i = 1; i <= names; i++) {
        if (group_of[order[i]] != title) {
            title = group_of[order[i]]
            printf "%s**%s**\n\n", (i > 1 ? "\n" : ""), title
            print "| function | type | error | CUDA | arguments |" (gpu_seen ? " at |" : "") " PTX | CUDA | sm_90 | CUDA |" \
                (speed_seen ? " speed | CUDA | least ratio |" : "")
            print "| --- | --- | --- | --- | --- |" (gpu_seen ? " --- |" : "") " --- | --- | --- | --- |" \
                (speed_seen ? " --- | --- | --- |" : "")
        }
        for (k = 1; k <= 2; k++) {
            t = types[k]
            key = order[i] SUBSEP t
            all = key SUBSEP "accurate"
            if (!(all in worst) && !(all in gpu_worst)) continue
            print "| `" order[i] "` | " t " | " error_cell(all, t) " | " or_none(limit[all]) " | " tried_cell(all) " | " \
                (gpu_seen ? at_cell(all) " | " : "") or_none(ptx[key]) " | " or_none(cuda_ptx[key]) " | " \
                sass_cell(key) " | " or_none(cuda_sass[key]) " |" speed_cells(all)
        }
    }
}

function form_table(form,    i, key, all, short)
{
    print "| function | error | arguments |" (gpu_seen ? " at |" : "") " PTX | accurate | sm_90 | accurate |" \
        (form == "fast" ? " for |" : "")
    print "| --- | --- | --- |" (gpu_seen ? " --- |" : "") " --- | --- | --- | --- |" (form == "fast" ? " --- |" : "")
    for (i = 1; i <= names; i++) {
        key = order[i] SUBSEP "f32"
        all = key SUBSEP form
        short = order[i] "_" form SUBSEP "f32"
        if (!(all in worst) && !(all in gpu_worst)) continue
        print "| `" order[i] "` | " error_cell(all, "f32") " | " tried_cell(all) " | " (gpu_seen ? at_cell(all) " | " : "") \
            or_none(ptx[short]) " | " or_none(ptx[key]) " | " or_none(sass[short]) " | " or_none(sass[key]) " |" (form == "fast" ? " " off[all] " |" : "")
    }
}

function halves_table(    i, a, b)
{
    print "| function | f16: error | not the nearest | bf16: error | not the nearest |"
    print "| --- | --- | --- | --- | --- |"
    for (i = 1; i <= names; i++) {
        a = order[i] SUBSEP "f16" SUBSEP "accurate"
        b = order[i] SUBSEP "bf16" SUBSEP "accurate"
        if (a in worst)
            print "| `" order[i] "` | " worst[a] " | " off[a] " of 65536 | " worst[b] " | " off[b] " of 65536 |"
    }
}

# `sin` of f64 as it is written in prose; parts that have no public name stay as they are.
function forms_list(    i, n, name, type, line, text, list, count, shared)
{
    for (i = 1; i <= ncalled; i++) {
        n = length(called[i])
        type = substr(called[i], n - 2)
        name = substr(called[i], 1, n - 4)
        text = "`" name "` of " type
        if (name in group_of) list = list (list == "" ? "" : ", ") text
        else shared = shared (shared == "" ? "" : ", ") text
    }
    fold("Functions of the module: " list ".")
    fold("Shared parts: " shared ".")
}

function fold(text,    words, n, i, line)
{
    n = split(text, words, " ")
    for (i = 1; i <= n; i++) {
        if (length(line) + length(words[i]) + 1 > 100) { print line; line = "" }
        line = line (line == "" ? "" : " ") words[i]
    }
    print line
}

function special_table(    i)
{
    print "| function | arguments → results |"
    print "| --- | --- |"
    for (i = 1; i <= names; i++) if (order[i] in special) print "| `" order[i] "` | " special[order[i]] " |"
}
