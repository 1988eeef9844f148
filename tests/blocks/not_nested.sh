#!/bin/sh
# A block that waits, communicates or writes is no operand: it returns nothing, so nesting it does not compile. The
# blocks are those of the headers, with operands from every_call.sh: each compiles as a statement, each that returns
# nothing is rejected as an operand for that alone, and those that return a value are the ones that only compute.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
LC_ALL=C
export LC_ALL

# They only compute, declare registers or parameters, or have an address.
values='cj_slice cj_concat_n cj_cluster_rank cj_cluster_size cj_cluster_at
    cj_ring_full cj_ring_empty cj_ring_stage cj_param_tensor_map
    cj_wgmma_accumulators cj_wgmma_operand cj_mma_a cj_mma_b cj_mma_accumulators cj_mma_a_at cj_mma_b_at'

# FILE: a program of its lines, each of which keeps its number
compiles()
{
    {
        echo '#include <cujit/ptx.h>'
        cat <<'END'
void program(cj_fn *f, cj_fn *g, cj_val v, const cj_val *vs);
void program(cj_fn *f, cj_fn *g, cj_val v, const cj_val *vs)
{
    static cj_thread_group group; static cj_ring ring; static cj_wgmma_matrix matrix; static cj_store_tile tile;
    static cj_wgmma_shape wgmma; static cj_mma_shape mma;
    int sum = 0;
    (void)g; (void)vs; (void)group; (void)ring; (void)matrix; (void)wgmma; (void)mma; (void)tile; (void)sum;
END
        echo '#line 1'
        cat "$1"
        echo '}'
    } >"$tap_work/program.c"
    # shellcheck disable=SC2086
    $CC -std=c11 -Werror -I"$top_srcdir/include" -fsyntax-only "$tap_work/program.c" >"$tap_work/log" 2>&1
}

# ---- The blocks --------------------------------------------------------------------------------------------------

headers=$top_srcdir/include/cujit
set -- "$headers/blocks.h" "$headers/async.h" "$headers/tensor_core.h"
sed -n 's/^CJ_API .*[ *]\(cj_[a-z0-9_]*\)(cj_fn \*f[,)].*/\1/p' "$@" | sort >"$tap_work/names"
sh "$top_srcdir/tests/build/every_call.sh" "$top_srcdir/include" |
    awk -v names="$tap_work/names" '
        BEGIN { while ((getline name < names) > 0) is_block[name] = 1 }
        /^#/ { exit }
        { sub(/^ */, ""); name = $0; sub(/^sum [^!]*!!|^[a-z]+ = /, "", name); sub(/\(.*/, "", name) }
        name in is_block' >"$tap_work/calls"
sed 's/^sum [^!]*!!//; s/^[a-z]* = //; s/(.*//' "$tap_work/calls" | sort | diff "$tap_work/names" - >"$tap_work/diff"
result_empty "each block of the headers has a call" "$tap_work/diff"

grep '^cj_' "$tap_work/calls" >"$tap_work/effects"
sed -n 's/^v = //p' "$tap_work/calls" >"$tap_work/pure"
compiles "$tap_work/calls"
result $? "all $(wc -l <"$tap_work/calls") calls compile as statements" "$tap_work/log"
grep -q '^cj_bulk_load(' "$tap_work/effects"
result $? "some of $(wc -l <"$tap_work/effects") return nothing"

# ---- Nested ------------------------------------------------------------------------------------------------------

sed 's/^\(.*\);$/v = cj_add(f, \1, 1);/' "$tap_work/pure" >"$tap_work/nested"
compiles "$tap_work/nested"
result $? "those that return a value are operands" "$tap_work/log"
# shellcheck disable=SC2086
printf '%s\n' $values | sort >"$tap_work/known"
sed 's/(.*//' "$tap_work/pure" | sort | comm -23 - "$tap_work/known" | sed 's/$/ returns a value: has it no effect?/' \
    >"$tap_work/unknown"
result_empty "... and only compute" "$tap_work/unknown"

# An error for each line, and all errors about void. (cj_add) is the function, not its macro: the compiler then reports
# the line.
sed 's/^\(cj_[a-z0-9_]*\)\(.*\);$/v = (cj_add)(f, (\1)\2, v);/' "$tap_work/effects" >"$tap_work/nested"
all_errors=-fmax-errors=0
# shellcheck disable=SC2086
if $CC -ferror-limit=0 -E -x c /dev/null >/dev/null 2>&1; then all_errors=-ferror-limit=0; fi
CC="$CC -fno-diagnostics-color $all_errors" compiles "$tap_work/nested"
sed -n 's/^[^:]*:\([0-9]*\):[0-9]*: error: /\1 /p' "$tap_work/log" >"$tap_work/errors"
line=0
while IFS= read -r call; do
    line=$((line + 1))
    awk -v line="$line" '$1 == line { n++; bad += !/void/; print } END { exit !n || bad }' \
        "$tap_work/errors" >"$tap_work/why"
    result $? "no operand: ${call%;}" "$tap_work/why"
done <"$tap_work/effects"
finish
