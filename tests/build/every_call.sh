#!/bin/sh
# Writes a call of each builder function of the headers, for every_macro.c; the verbs a second time with numbers as
# operands.
# usage: every_call.sh INCLUDE-DIR
set -eu
dir=$1
set -- "$dir/cujit/ptx.h" "$dir/cujit/verbs.h" "$dir/cujit/control.h"
for extra in math.h blocks.h async.h tensor_core.h; do
    if [ -f "$dir/cujit/$extra" ]; then set -- "$@" "$dir/cujit/$extra"; fi
done
calls()
{
    numbers=$1
    shift
    LC_ALL=C awk -v numbers="$numbers" '
    BEGIN {
        n = split("cj_val=v|cj_val *=&v|const char *=\"x\"|const char **=&text|size_t *=&bytes|cj_type=CJ_F32|" \
                  "cj_space=CJ_SPACE_GLOBAL|cj_dim=CJ_X|cj_fn *=g|const cj_val *=vs|const void *=vs|" \
                  "void *=(void *)vs|cj_op=op|cj_math_accuracy=CJ_MATH_FAST|cj_math_form=CJ_MATH_AUTO|" \
                  "cj_combine_op=CJ_COMBINE_ADD|const cj_thread_group *=&group|cj_ring *=&ring|const cj_ring *=&ring|" \
                  "cj_swizzle=CJ_SWIZZLE_NONE|cj_wgmma_matrix *=&matrix|const cj_wgmma_matrix *=&matrix|" \
                  "const cj_wgmma_shape *=&wgmma|const cj_mma_shape *=&mma|" \
                  "cj_store_tile *=&tile|const cj_store_tile *=&tile|" \
                  "unsigned=1|size_t=1|uint32_t=1|uint64_t=1|int64_t=1|int=1|float=1|double=1", row, /\|/)
        for (i = 1; i <= n; i++) {
            type = sample = row[i]
            sub(/=.*/, "", type)
            sub(/^[^=]*=/, "", sample)
            samples[type] = sample
        }
        n = split("void=|cj_val=v = |cj_fn *=g = |cj_ptx *=m = ", row, /\|/)
        for (i = 1; i <= n; i++) {
            type = sample = row[i]
            sub(/=.*/, "", type)
            sub(/^[^=]*=/, "", sample)
            results[type] = sample
        }
    }
    # a declaration of several lines is one
    { while (/^CJ_API .*,$/ && (getline more) > 0) { sub(/^ */, " ", more); $0 = $0 more } }
    /^(CJ_API|static inline) [^()]*[ *]cj_[a-z0-9_]+\((cj_fn \*f|cj_ptx \*m)[,)]/ {
        head = list = $0
        sub(/\(.*/, "", head)
        name = result = head
        sub(/.*[ *]/, "", name)
        sub(/^(CJ_API|static inline) /, "", result)
        sub(/ *[^ *]*$/, "", result)
        if (name ~ /_free$|^cj_here|^cj_line$|^cj_ptx_line$/) next
        if (numbers && (FILENAME ~ /ptx\.h$/ || $0 !~ /, cj_val [^*]/)) next
        sub(/^[^(]*\(/, "", list)
        sub(/\).*/, "", list)
        n = split(list, param, /, /)
        call = substr(param[1], length(param[1]))
        for (i = 2; i <= n; i++) {
            type = param[i]
            sub(/ *[^ *]*$/, "", type)
            if (!(type in samples)) { print "#error no sample of the type " type " of " name; continue }
            call = call ", " (numbers && type == "cj_val" ? i : samples[type])
        }
        print "    " (result in results ? results[result] : "sum += (int)!!") name "(" call ");"
    }' "$@"
}
calls 0 "$@"
echo '#if defined __cplusplus || (defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L)'
calls 1 "$@"
echo '#endif'
