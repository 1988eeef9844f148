# Counts the machine instructions of each function of nvdisasm's output, NOP left out: "NAME COUNT" lines.
/^[ \t]*\.section[ \t]+\.text\./ {
    name = $0
    sub(/^.*\.text\./, "", name)
    sub(/[^A-Za-z0-9_$].*$/, "", name)
}
/^[ \t]*\/\*[0-9a-f][0-9a-f][0-9a-f][0-9a-f]+\*\/[ \t]/ && !/NOP/ { count[name]++ }
END { for (f in count) print f, count[f] }
