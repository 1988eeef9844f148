#!/bin/sh
# The figures in docs/kernels.md and docs/performance.md are those of tests/oracle/kernel_speed.txt, which is what
# bench/kernels printed on a GPU.  make kernels-doc writes them anew; with BENCH='files' it records those outputs first.
#
# figures_document.sh record FILE...    prints the record of outputs of bench/kernels
# figures_document.sh print DOCUMENT    prints the document with its tables made anew
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
here=$top_srcdir/tests/kernels
speed=$top_srcdir/tests/oracle/kernel_speed.txt

printed() { awk -f "$here/figures_document.awk" "$speed" "$top_srcdir/bench/limits" "$1"; }

case ${1:-} in
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
