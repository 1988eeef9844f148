#!/bin/sh
# Writes docs/semantics.md to standard output, from the logs of the conformance programs.
# usage: doc.sh FOLDER-OF-SIM-LOGS FOLDER-OF-GPU-LOGS   (rules_*.sim.log in the one, rules_*.gpu.log in the other)
# shellcheck disable=SC2016
set -eu
sim=$1 gpu=$2
files=
groups='loader streams events host memory captures captures_calls graphs graphs_kinds graphs_conditions launches'
for group in $groups; do
    for log in "$sim/rules_$group.sim.log" "$gpu/rules_$group.gpu.log"; do
        test -f "$log" || { echo "doc.sh: no $log: run the conformance programs there" >&2; exit 1; }
        grep -q 'rule [0-9]' "$log" || {
            echo "doc.sh: $log has no rules: the programs were skipped there" >&2
            exit 1
        }
        files="$files $log"
    done
done
# shellcheck disable=SC2086
${AWK:-awk} '
    FNR == 1 {
        on = FILENAME ~ /\.gpu\.log$/ ? "gpu" : "sim"
        group = FILENAME; sub(/.*rules_/, "", group); sub(/[_.].*/, "", group)
    }
    /^# device: / { device[on] = substr($0, 11) }
    /^# rule [0-9]+: / {
        n = $3 + 0
        text = $0; sub(/^# rule [0-9]+: /, "", text)
        note[on, n] = note[on, n] (note[on, n] == "" ? "" : "; ") text
        next
    }
    /^(not )?ok [0-9]+ / && match($0, /rule [0-9]+: /) {
        text = substr($0, RSTART + RLENGTH)
        n = substr($0, RSTART + 5, RLENGTH - 7) + 0
        result = "holds"
        if (/^not ok/) result = "**fails**"
        else if (/# SKIP/) {
            result = "not here"
            at = index(text, ". Not here: ")
            if (at) {
                note[on, n] = substr(text, at + 12) (note[on, n] == "" ? "" : "; ") note[on, n]
                text = substr(text, 1, at - 1)
            }
        }
        if (!(n in says)) { of[++count] = n; where[n] = group }
        if (!(n in says)) says[n] = text
        got[on, n] = result
    }
    function line(text) { print text }
    END {
        title["loader"] = "Entry points and contexts"
        title["streams"] = "Streams"
        title["events"] = "Events"
        title["host"] = "Host functions and callbacks"
        title["memory"] = "Copies and memory"
        title["captures"] = "Capture"
        title["graphs"] = "Graphs"
        title["launches"] = "Launches and errors"
        line("# What the driver promises, and who keeps it")
        line("")
        line("The rules of the CUDA driver that cujit relies on, each as a test that runs unmodified on the CPU")
        line("device and on a GPU (`tests/conformance`, one program for each group, one line of TAP for each")
        line("rule). Where a GPU differs from NVIDIA'\''s text, the rule states what the GPU does. Rules 29 and 38")
        line("are missing: they are about mistakes that a device may report, not about what it does.")
        line("")
        line("This file is generated: `make semantics-doc` renews it from the logs of both devices.")
        line("")
        line("- CPU device: " device["sim"])
        line("- GPU: " device["gpu"])
        for (i = 1; i <= count; i++) {
            n = of[i]
            if (where[n] != last) {
                notes()
                last = where[n]
                line("")
                line("## " title[last])
                line("")
                line("| rule | statement | CPU device | GPU |")
                line("| ---: | --------- | ---------- | --- |")
                from = i
            }
            line("| " n " | " says[n] " | " result_on("sim", n) " | " result_on("gpu", n) " |")
        }
        i = count + 1
        notes()
    }
    function result_on(device, n) { return (device, n) in got ? got[device, n] : "-" }
    # What was seen besides, below each table.
    function notes(k, m, s, g) {
        for (k = from; from && k < i; k++) {
            m = of[k]; s = note["sim", m]; g = note["gpu", m]
            if (s == "" && g == "") continue
            if (!told[last]++) line("")
            if (s == g) item("Rule " m ", both: " s ".")
            else item("Rule " m ":" (s == "" ? "" : " CPU device: " s ".") (g == "" ? "" : " GPU: " g "."))
        }
    }
    # An item of a list, in lines of at most 100 columns.
    function item(text,   n, i, word, row) {
        n = split(text, word, " ")
        row = "-"
        for (i = 1; i <= n; i++) {
            if (length(row) + 1 + length(word[i]) > 100) { line(row); row = " " }
            row = row " " word[i]
        }
        line(row)
    }
' $files
cat "${0%/*}/approximations.md" "${0%/*}/tensor_cores.md"
