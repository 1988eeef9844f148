# Of nvdisasm's output of a loop of bench/math: instructions by pipe that a warp executes for one result.
#
#     every   all blocks of the loop and of the functions that it calls: threads of a warp are on all sides
#     least   the path with the fewest instructions: all threads are on the shortest side of each branch
#
# The loop is the longest one of kernel `loop`, four results a turn.  ptxas's own functions, __cuda_..., are not added:
# their calls are for operands at the ends of the range.
function pipe_of(op)
{
    if (op ~ /^(DFMA|DMUL|DADD|DSETP)/) return "f64"
    if (op ~ /^(FFMA|FMUL|FADD|IMAD|HFMA2)/) return "fma"
    if (op ~ /^(MUFU|F2I|I2F\.|F2F|FRND|POPC|FLO|BREV)/) return "mufu"
    if (op ~ /^(BRA|BSSY|BSYNC|CALL|RET|EXIT|WARPSYNC|BREAK|BMOV|YIELD)/) return "branch"
    if (op ~ /^(LD|ST|S2|RED|ATOM)/) return "memory"
    return op ~ /^U/ ? "uniform" : "alu"
}
/^[ \t]*\.section[ \t]/ { inside = $0 ~ /\.text\.loop/; next }
inside && /^[.$A-Za-z_][A-Za-z0-9_$.]*:/ { label = $1; sub(/:.*/, "", label); place[label] = n + 1 }
inside && /^[ \t]*\/\*[0-9a-f][0-9a-f][0-9a-f][0-9a-f]+\*\/[ \t]/ {
    sub(/^[ \t]*\/\*[0-9a-f]*\*\/[ \t]*/, "")
    sub(/;.*$/, "")
    text[++n] = $0
}
function target(line)
{
    sub(/^[^`]*`\(/, "", line)
    sub(/\).*$/, "", line)
    return place[line]
}
function follow(i,    op, guarded)
{
    op = text[i]
    guarded = op ~ /^@/ || op ~ /^[A-Z.]+[ \t]+!?U?P[0-9]/
    sub(/^@[!A-Z0-9]*[ \t]+/, "", op)
    pipe[i] = op ~ /^NOP/ ? "" : pipe_of(op)
    next_of[i] = i + 1
    if (op ~ /^(RET|EXIT)/ && !guarded) next_of[i] = 0
    if (op ~ /^BRA/) {
        jump_of[i] = target(op)
        if (!guarded) next_of[i] = 0
        if (jump_of[i] <= i) { back[i] = jump_of[i]; jump_of[i] = 0 }
    }
    if (op ~ /^CALL/ && op !~ /__cuda_/) call_of[i] = target(op)
}
# What can be reached from `first`, up to `last`, into reached[key, i].
function reach(key, first, last,    i)
{
    reached[key, first] = 1
    for (i = first; i <= last; i++) {
        if (!((key, i) in reached)) continue
        if (next_of[i] && next_of[i] <= last) reached[key, next_of[i]] = 1
        if (jump_of[i] && jump_of[i] <= last) reached[key, jump_of[i]] = 1
    }
}
# The instructions of all blocks from `first` on, and of those of the path with the fewest, added to sum[name, pipe].
function add(first, last, key,    i, steps)
{
    reach(key, first, last)
    for (i = last; i >= first; i--) {
        steps = 1 + (call_of[i] ? 1000 : 0)
        least[key, i] = steps + (next_of[i] && next_of[i] <= last ? least[key, next_of[i]] : 0)
        to[key, i] = next_of[i]
        if (jump_of[i] && jump_of[i] <= last && (!next_of[i] || least[key, jump_of[i]] + steps < least[key, i])) {
            least[key, i] = steps + least[key, jump_of[i]]
            to[key, i] = jump_of[i]
        }
    }
    for (i = first; i <= last; i++) {
        if (!((key, i) in reached)) continue
        sum["every", pipe[i]]++
        if (call_of[i]) add(call_of[i], n, key " " i)
    }
}
function walk(first, last, key,    i)
{
    for (i = first; i && i <= last; i = to[key, i]) {
        sum["least", pipe[i]]++
        if (call_of[i]) walk(call_of[i], n, key " " i)
    }
}
END {
    for (i = 1; i <= n; i++) follow(i)
    for (i in back)
        if (i - back[i] > last - first) { first = back[i]; last = i + 0 }
    add(first, last, "loop")
    walk(first, last, "loop")
    split("every least", kinds, " ")
    count = split("f64 fma alu mufu uniform memory branch", pipes, " ")
    for (k = 1; k <= 2; k++) {
        line = ""
        all = 0
        for (i = 1; i <= count; i++) {
            line = line sprintf(" %s %.2f", pipes[i], sum[kinds[k], pipes[i]] / 4)
            all += sum[kinds[k], pipes[i]] / 4
        }
        printf "%s %s: %.2f:%s\n", name, kinds[k], all, line
    }
}
