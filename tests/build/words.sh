#!/bin/sh
# Phrases of tests/build/words.txt in public headers, Markdown, NEWS and messages.
# Run in the source tree (make check-format).  Prints file:line: phrase -> replacement; exit status 1 when there is any.
set -eu
LC_ALL=C
export LC_ALL
prose=$(find include/cujit README.md CONTRIBUTING.md NEWS docs tests/README.md examples/README.md \
    \( -name '*.h' -o -name '*.hpp' -o -name '*.md' -o -name NEWS \) -type f 2>/dev/null | sort)
code=$(find src tools -name '*.c' -type f ! -name isa_data.c | sort)
# shellcheck disable=SC2086
${AWK:-awk} -F '\t' '
    FILENAME == ARGV[1] {
        if (!/^#/ && NF == 2) { n++; regex[n] = with_edges($1); text[n] = $2 }
        next
    }
    FNR == 1 { tail = ""; is_code = FILENAME ~ /^(src|tools)\// }
    {
        line = is_code ? literals($0) : $0
        sub(/^[ ]*\*+[ ]?|^[ ]*\/\*+[ ]?/, "", line)
        low = " " tolower(line) " "
        if (low !~ /^ *$/)
            for (i = 1; i <= n; i++)
                if (match(low, regex[i])) report(i, FNR, substr(low, RSTART, RLENGTH))
                else if (!is_code && tail != "" && match(tail low, regex[i]) && RSTART <= length(tail) &&
                         RSTART + RLENGTH > length(tail) + 1)
                    report(i, FNR, substr(tail low, RSTART, RLENGTH))
        tail = substr(low, length(low) > 40 ? length(low) - 40 : 1)
        sub(/ +$/, "", tail)
    }
    END { exit failed }

    # mawk has no \b: a border is a blank or a sign, since each line is searched with a blank at both ends.
    function with_edges(r) { gsub(/\\b/, "[^a-z0-9_]", r); return r }
    function report(i, at, found) {
        gsub(/^[^a-z]+|[^a-z]+$/, "", found)
        printf "%s:%d: \"%s\" -> %s\n", FILENAME, at, found, text[i]
        failed = 1
    }
    function literals(s,   out) {
        out = ""
        while (match(s, /"([^"\\]|\\.)*"/)) {
            out = out " " substr(s, RSTART + 1, RLENGTH - 2)
            s = substr(s, RSTART + RLENGTH)
        }
        return out
    }
' tests/build/words.txt $prose $code
