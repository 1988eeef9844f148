#!/bin/sh
# Runs the fuzzing targets under libFuzzer: libfuzzer.sh SOURCE SECONDS TARGET... in the build folder. Builds the tree
# by clang with coverage, ASan and UBSan in fuzz-clang, and keeps each target's inputs there from run to run.
set -eu
source=$1 seconds=$2
shift 2
flags='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined'
if ! echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }' |
    clang -x c -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; then
    echo 'make fuzz: clang with libFuzzer is not there (Debian: apt-get install clang)' >&2
    exit 1
fi
mkdir -p fuzz-clang
cd fuzz-clang
[ -f Makefile ] ||
    "$source/configure" --quiet --disable-shared CC=clang CXX=clang++ CFLAGS="$flags -fsanitize=fuzzer-no-link"
programs=
for t in "$@"; do programs="$programs tests/fuzz/fuzz_$t"; done
${MAKE:-make} ${jobs:-} all >/dev/null
${MAKE:-make} ${jobs:-} $programs >/dev/null
clang $flags -std=gnu11 -I"$source/include" -I"$source/src" -I"$source" \
    -c "$source/tests/fuzz/fuzz_libfuzzer.c" -o fuzz_libfuzzer.o
top_srcdir=$source top_builddir=$PWD
export top_srcdir top_builddir
failed=
for t in "$@"; do
    more= closed=0
    if [ "$t" = expr ]; then
        more='examples/*expr_csv.o examples/*expr_kernel.o examples/*expr_syntax.o'
        closed=2
    fi
    clang $flags -fsanitize=fuzzer -pthread -o "libfuzzer_$t" "tests/fuzz/fuzz_$t.o" fuzz_libfuzzer.o $more \
        tests/fuzz/fuzz_text.o tests/fuzz/fuzz_mutate.o tests/libtest.a .libs/libcujit-stream.a \
        .libs/libcujit-driver.a .libs/libcujit-simcore.a .libs/libcujit-cuda.a .libs/libcujit-ptx.a \
        .libs/libcujit-base.a -lm
    mkdir -p "corpus-$t"
    "tests/fuzz/fuzz_$t" --seeds "corpus-$t"
    echo "libFuzzer: $t for $seconds s"
    "./libfuzzer_$t" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=4096 -timeout=30 -print_final_stats=1 \
        -close_fd_mask=$closed \
        -artifact_prefix="$t-" "corpus-$t" >"$t.log" 2>&1 || failed="$failed $t"
    grep -E 'number_of_executed_units|SUMMARY|ERROR|^#.*DONE' "$t.log" || failed="$failed $t"
done
[ -z "$failed" ] || { echo "make fuzz: a fault in$failed; the input is beside fuzz-clang/TARGET.log" >&2; exit 1; }
