#!/bin/sh
# The figures in docs/kernels.md and docs/performance.md are those of tests/oracle/kernel_speed.txt, which is what
# bench/kernels printed on an H100, and of kernel_speed_others.txt, of another GPU.  make kernels-doc writes them anew;
# with BENCH='files' it records those outputs first, in the file of their device.
#
# figures_document.sh file FILE...      prints the name of that file
# figures_document.sh record FILE...    prints the record of outputs of bench/kernels
# figures_document.sh print DOCUMENT    prints the document with its tables made anew
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
here=$top_srcdir/tests/kernels
speed=$top_srcdir/tests/oracle/kernel_speed
printed() { awk -f "$here/figures_document.awk" "$speed.txt" "${speed}_others.txt" "$top_srcdir/bench/limits" "$1"; }

case ${1:-} in
file) shift; grep -q '^device .*H100' "$@" && echo "$speed.txt" || echo "${speed}_others.txt"; exit ;;
record) shift; awk -f "$here/figures_record.awk" "$@"; exit ;;
print) printed "$2"; exit ;;
esac

for name in kernels performance; do
    printed "$top_srcdir/docs/$name.md" >"$tap_work/new" || exit 1
    diff "$top_srcdir/docs/$name.md" "$tap_work/new" >"$tap_work/differences"
    result $? "docs/$name.md is current (make kernels-doc)" "$tap_work/differences"
    grep -q '^| .*gemm.bf16' "$tap_work/new" || grep -q '^| gemm bf16' "$tap_work/new"
    result $? "docs/$name.md has figures of products"
done

printf 'device NVIDIA H100 80GB HBM3\n' >"$tap_work/h100"
printf 'device NVIDIA H200\n' >"$tap_work/h200"
printf '%s\n' kernel_speed.txt kernel_speed_others.txt >"$tap_work/want"
for name in h100 h200; do basename "$(sh "$0" file "$tap_work/$name")"; done >"$tap_work/out"
diff "$tap_work/want" "$tap_work/out" >"$tap_work/differences"
result $? 'outputs are recorded in the file of their device' "$tap_work/differences"

# Two runs, of which the first has its standard error in the middle of lines.
cat >"$tap_work/a" <<'END'
torch.version 2
device X
kernels.gemm.kernels: kernels.gemm.f32.8.ratio is 0.5, the limit is at least 0.96
f32.8.ours 10 TFLOP/s
kernels.gemm.f32.8.ratio 0.5 ratio
END
sed -e '/the limit/d' -e 's/^f32/kernels.gemm.f32/' -e 's/ 0.5 / 0.7 /' "$tap_work/a" >"$tap_work/b"
sh "$0" record "$tap_work/a" "$tap_work/b" | sed 1d >"$tap_work/out"
printf '%s\n' 'runs 2' 'torch.version 2' 'device X' 'kernels.gemm.f32.8.ours 10 TFLOP/s' \
    'kernels.gemm.f32.8.ratio 0.6 ratio' >"$tap_work/want"
diff "$tap_work/want" "$tap_work/out" >"$tap_work/differences"
result $? 'outputs of two processes are recorded as medians' "$tap_work/differences"
finish
