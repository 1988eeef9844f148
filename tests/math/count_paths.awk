# Of each function of nvdisasm's output: the most instructions on any path from its first one to its end, NOP left out,
# those of functions that the path calls added: "NAME COUNT" lines.  A warp whose threads take the same side of each
# branch executes no more.  With a loop COUNT is ONCE+MORE: with one turn of it, and for each further turn.  ptxas's own
# functions, __cuda_..., are not added: their calls are for arguments at the ends of the range, as in CUDA's code.
function instruction(line)
{
    n++
    text[n] = line
    if (!(name in first)) first[name] = n
    last[name] = n
}
/^[ \t]*\.section[ \t]/ {
    name = ""
    if ($0 ~ /\.text\./) {
        name = $0
        sub(/^.*\.text\./, "", name)
        sub(/[^A-Za-z0-9_$].*$/, "", name)
    }
}
name != "" && /^\.L[A-Za-z0-9_]*:/ { label = $1; sub(/:.*/, "", label); place[label] = n + 1 }
name != "" && /^[ \t]*\/\*[0-9a-f][0-9a-f][0-9a-f][0-9a-f]+\*\/[ \t]/ {
    sub(/^[ \t]*\/\*[0-9a-f]*\*\/[ \t]*/, "")
    sub(/;.*$/, "")
    instruction($0)
}
# What stands in `...` of an instruction, without brackets.
function target(line)
{
    sub(/^[^`]*`\(/, "", line)
    sub(/[^A-Za-z0-9_.$].*$/, "", line)
    return line
}
# What follows instruction i: next_of[i] and jump_of[i], 0 where there is none; weight[i] with the function that it calls.
function follow(i,    op, guarded)
{
    op = text[i]
    guarded = op ~ /^@/
    sub(/^@[!A-Z0-9]*[ \t]+/, "", op)
    weight[i] = op ~ /^NOP/ ? 0 : 1
    next_of[i] = i + 1
    if (op ~ /^(RET|EXIT)/) next_of[i] = guarded ? i + 1 : 0
    else if (op ~ /^(BRA|JMP)/) {
        jump_of[i] = place[target(op)]
        if (jump_of[i] <= i) { turn[i] = i - jump_of[i] + 1; jump_of[i] = 0 }
        if (!guarded && op !~ /^[A-Z.]+[ \t]+!?U?P[0-9]/) {
            next_of[i] = 0
            if (i in turn) weight[i] += 100000 # a block behind the rest: no such path is counted
        }
    } else if (op ~ /^CALL/) called[i] = target(op)
}
function reach(f,    i, again)
{
    here[first[f]] = 1
    do {
        again = 0
        for (i = first[f]; i <= last[f]; i++) {
            if (!here[i]) continue
            if (next_of[i] && !here[next_of[i]]) { here[next_of[i]] = 1; again = 1 }
            if (jump_of[i] && !here[jump_of[i]]) { here[jump_of[i]] = 1; again = 1 }
        }
    } while (again)
}
# The most instructions of f and what it calls; more[f]: those of a turn.
function longest(f,    i, best)
{
    if (f in done) return done[f]
    reach(f)
    for (i = first[f]; i <= last[f]; i++)
        if (here[i] && (i in called) && called[i] !~ /^__cuda_/ && (called[i] in first)) weight[i] += longest(called[i])
    for (i = last[f]; i >= first[f]; i--) { # jumps are forward
        if (!here[i]) continue
        best = next_of[i] ? most[next_of[i]] : 0
        if (jump_of[i] && most[jump_of[i]] > best) best = most[jump_of[i]]
        most[i] = weight[i] + best
        if (i in turn) more[f] += turn[i]
    }
    return done[f] = most[first[f]]
}
END {
    for (i = 1; i <= n; i++) follow(i)
    for (f in first) {
        count = longest(f)
        print f, (f in more ? count "+" more[f] : count)
    }
}
