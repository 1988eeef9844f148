# Counts the instructions of each .func of PTX text, those of the functions that it calls added once: "NAME COUNT" lines.
# With bodies=1 nothing is added.
# Not counted: mov, ret, loads of parameters, stores of results.
/\.func/ && !inside {
    name = $0
    sub(/^.*\.func[ \t]*(\([^)]*\)[ \t]*)?/, "", name)
    sub(/[^A-Za-z0-9_$].*$/, "", name)
}
/^\{/ { inside = 1; own[name] += 0; next }
/^\}/ { inside = 0; next }
inside {
    rest = $0
    while (match(rest, /(cj_math|__internal)_[A-Za-z0-9_]+/)) {
        called[name] = called[name] " " substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
    }
    op = $1 ~ /^@/ ? $2 : $1
    if (op !~ /^[a-z][a-z0-9]*([.;]|$)/ || op ~ /:$/ || op ~ /^(param|retval)/) next
    if (op ~ /^(ld\.param|st\.param|ret|mov|st\.[bfuv])/) next
    own[name]++
}
function total(f,    sum, list, n, i)
{
    if (f in seen || !(f in own)) return 0
    seen[f] = 1
    sum = own[f]
    n = split(called[f], list, " ")
    for (i = 1; i <= n; i++) sum += total(list[i])
    return sum
}
function closure(f,    text, list, n, i)
{
    if (f in seen || !(f in own)) return ""
    seen[f] = 1
    text = f
    n = split(called[f], list, " ")
    for (i = 1; i <= n; i++) text = text " " closure(list[i])
    return text
}
END {
    for (f in own) {
        if (f !~ /^g_/) continue
        if (bodies) { print f, own[f]; continue }
        split("", seen)
        count = total(f)
        split("", seen)
        print f, count, closure(f)
    }
}
