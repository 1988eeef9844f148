#!/bin/sh
# The functions of src/ptx/math have at most as many instructions as nvcc makes of CUDA's: PTX, and machine code
# for sm_90 where ptxas and nvdisasm are there.  cuda_counts.txt has CUDA's counts, so the test needs no nvcc.  Machine
# code is counted as it stands; where cuda_counts.txt says so, on the longest path.
#
# own_counts.txt has ours, for docs/mathematics.md.
#
# instructions.sh record     prints cuda_counts.txt anew, by the nvcc of PATH
# instructions.sh own        prints own_counts.txt anew, by ptxas and nvdisasm
# instructions.sh table      prints the counts of both
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
here=$top_srcdir/tests/math
ptxas=${CUJIT_PTXAS:-ptxas}
if ! command -v "$ptxas" >/dev/null 2>&1; then ptxas=/usr/local/cuda/bin/ptxas; fi
nvdisasm=$(command -v nvdisasm || echo "$(dirname "$ptxas")/nvdisasm")
machine=
if [ -x "$(command -v "$ptxas")" ] && [ -x "$nvdisasm" ]; then machine=yes; fi

# FILE.ptx: FILE.counts with "NAME PTX SASS PATH" lines; SASS and PATH are - without the tools
count()
{
    awk -f "$here/count_ptx.awk" "$1.ptx" | sort >"$1.own" || return 1
    : >"$1.sass"
    : >"$1.path"
    if [ "$machine" ]; then
        "$ptxas" -c -arch=sm_90 "$1.ptx" -o "$1.cubin" 2>"$1.err" || { cat "$1.err" >&2; return 1; }
        "$nvdisasm" -c "$1.cubin" >"$1.dis" || return 1
        awk -f "$here/count_sass.awk" "$1.dis" >"$1.sass"
        awk -f "$here/count_paths.awk" "$1.dis" >"$1.path"
    fi
    awk -v machine="$machine" 'FILENAME ~ /sass$/ { sass[$1] = $2; next }
        FILENAME ~ /path$/ { path[$1] = $2; next }
        { n = 0; for (i = 3; i <= NF; i++) n += sass[$i]
          print $1, $2, machine ? n : "-", $1 in path ? path[$1] : "-" }' \
        "$1.sass" "$1.path" "$1.own" >"$1.counts"
}

# TYPE: our functions, each visible so that ptxas keeps it
ours()
{
    "$top_builddir/tests/math/function_texts" "$1" |
        sed '/ g_/s/^\.func/.visible .func/' >"$tap_work/ours_$1.ptx" && count "$tap_work/ours_$1"
}

version=
if [ "$machine" ]; then version=$("$ptxas" --version | sed -n 's/.*release.* V/V/p'); fi

# "FUNCTION TYPE PTX SASS PATH" of all functions, in the order of their names
own_counts()
{
    for type in f32 f64; do
        sed -n "s/^g_\([^ ]*\) /\1 $type /p" "$tap_work/ours_$type.counts"
    done | sort
}

if [ "${1:-}" = own ]; then
    [ "$machine" ] || { echo 'instructions.sh: there is no ptxas or no nvdisasm' >&2; exit 1; }
    ours f32 && ours f64 || exit 1
    echo '# Instructions of our functions: function, type, PTX without mov, machine instructions for sm_90, those of'
    echo '# the longest path, with one turn of its loop + for each further turn (20 bits of the quotient in f32, 48 in'
    echo '# f64).  What is called is added.  Made by tests/math/instructions.sh own.'
    echo "# ptxas $version"
    own_counts
    exit
fi

if [ "${1:-}" = record ]; then
    nvcc=$(command -v nvcc) || { echo 'instructions.sh: there is no nvcc in PATH' >&2; exit 1; }
    for type in f32 f64; do
        awk -v type=$type '$2 == type {
            t = type == "f32" ? "float" : "double"
            f = $1 == "pown" ? "pow" : $1
            c = f (type == "f32" ? "f" : "")
            n = "g_" $1
            head = "extern \"C\" __device__ "
            if ($3 == "1") print head t " " n "(" t " x) { return " c "(x); }"
            if ($3 == "2") print head t " " n "(" t " x, " t " y) { return " c "(x, y); }"
            if ($3 == "both") print head "void " n "(" t " x, " t " *s, " t " *c) { " c "(x, s, c); }"
            if ($3 == "part") print head t " " n "(" t " x, " t " *p) { return " c "(x, p); }"
            if ($3 == "exponent") print head t " " n "(" t " x, int *p) { return " c "(x, p); }"
            if ($3 == "quotient") print head t " " n "(" t " x, " t " y, int *p) { return " c "(x, y, p); }"
            cast = f == "pow" ? "(" t ")" : ""
            if ($3 == "whole") print head t " " n "(" t " x, int k) { return " c "(x, " cast "k); }"
            if ($3 == "integer") print head "int " n "(" t " x) { return " c "(x); }"
        }' "$here/cuda_counts.txt" >"$tap_work/cuda_$type.cu"
        "$nvcc" -arch=sm_90 -rdc=true -ptx "$tap_work/cuda_$type.cu" -o "$tap_work/cuda_$type.ptx" || exit 1
        sed -i 's/^\.func/.visible .func/' "$tap_work/cuda_$type.ptx"
        count "$tap_work/cuda_$type" || exit 1
    done
    made=$("$nvcc" --version | sed -n 's/.*release.* V/V/p')
    sed -n '/^#/p' "$here/cuda_counts.txt" | sed "s/^# nvcc .*/# nvcc $made/"
    for type in f32 f64; do
        awk -v type=$type 'FILENAME ~ /counts$/ { ptx[$1] = $2; sass[$1] = $3; next }
            $2 == type { print $1, $2, $3, ptx["g_" $1], sass["g_" $1], $6, $7 }' \
            "$tap_work/cuda_$type.counts" "$here/cuda_counts.txt"
    done | sed 's/ *$//'
    exit
fi

for type in f32 f64; do
    ours $type 2>"$tap_work/err"
    result $? "functions of $type can be counted" "$tap_work/err"
    awk -v type=$type -v table="${1:-}" 'FILENAME ~ /counts$/ { ptx[$1] = $2; sass[$1] = $3; path[$1] = $4; next }
        $2 != type { next }
        {
            p = ptx["g_" $1]
            s = sass["g_" $1]
            most_ptx = $6 != "" && $6 != "sides" ? $6 : $4
            most_sass = $7 != "" ? $7 : $5
            if (table) printf "# %-12s %s: PTX %3d, CUDA %3d; sm_90 %3s, CUDA %3d; executed at most %s\n", $1, type, p,
                $4, s, $5, path["g_" $1]
            if ($6 == "sides" && s != "-") s = path["g_" $1]
            if (p == "") print $1 " is no function" >"/dev/stderr"
            if (p > most_ptx) print $1 " of " type " has " p " instructions of PTX: at most " most_ptx >"/dev/stderr"
            if (s != "-" && s > most_sass)
                print $1 " of " type " has " s " machine instructions: at most " most_sass >"/dev/stderr"
        }' "$tap_work/ours_$type.counts" "$here/cuda_counts.txt" 2>"$tap_work/above"
    result_empty "functions of $type have at most CUDA's instructions" "$tap_work/above"
done

# Functions of the module are those of over 100 instructions, the parts that several functions share, and the far side
# of tgamma, which is over 100 with it.
shared='trig_big_f32 trig_big_f64 log2dd_f32 pow_log_f64 log1pc_f64 tgamma_far_f64'
"$top_builddir/tests/math/function_texts" forms >"$tap_work/forms"
for type in f32 f64; do
    awk -v bodies=1 -f "$here/count_ptx.awk" "$tap_work/ours_$type.ptx" | sed "s/^g_\([^ ]*\)/\1_$type/"
done | awk -v shared="$shared" 'BEGIN { n = split(shared, list, " "); for (i = 1; i <= n; i++) wanted[list[i]] = 1 }
    FILENAME ~ /forms$/ { called[$1] = 1; next }
    ($1 in called) != ($2 > 100 || $1 in wanted) { print $1 " of " $2 " instructions is " \
        ($1 in called ? "a function of the module" : "inline") }' "$tap_work/forms" - >"$tap_work/wrong"
result_empty 'functions of the module are those of over 100 instructions, and shared parts' "$tap_work/wrong"

# The recorded ones, which the document shows: machine code where ptxas is the same.
of_record=$(sed -n 's/^# ptxas //p' "$here/own_counts.txt")
sed '/^#/d' "$here/own_counts.txt" >"$tap_work/recorded"
own_counts >"$tap_work/counted"
if [ "$version" != "$of_record" ]; then
    for list in recorded counted; do
        sed 's/^\([^ ]* [^ ]* [^ ]*\) .*/\1/' "$tap_work/$list" >"$tap_work/$list.ptx" &&
            mv "$tap_work/$list.ptx" "$tap_work/$list"
    done
fi
diff "$tap_work/recorded" "$tap_work/counted" >"$tap_work/differences"
result $? 'own_counts.txt is current (tests/math/instructions.sh own)' "$tap_work/differences"
if [ "$machine" ]; then result 0 'machine code for sm_90 is counted'
else skip 'machine code for sm_90 is counted' 'no ptxas or no nvdisasm'; fi
finish
