#!/bin/sh
# Puts faults into the code of each function of src/ptx/math, one at a time, and asks whether the tests' operands show
# them: math_mutants.sh SRCDIR BUILDDIR [FUNCTION...]      (make check-math-mutants; MUTANTS='FUNCTION...' for some)
# Prints what nothing shows, and fails there; a coefficient's middle bit is counted only.
set -u
build=$2
shift 2
cd "$build" || exit 1
CUJIT_SIM=$build/src/sim/.libs/libcujit-sim.so CUJIT_DRIVER=sim CUJIT_CACHE=0
export CUJIT_SIM CUJIT_DRIVER CUJIT_CACHE
status=0
for program in functions_f32 functions_f64; do
    "tests/math/$program" mutants "$@" >"mutants_$program.out" || status=1
    grep -v '^ok\|^1\.\.' "mutants_$program.out" | grep 'no result shows\|^not ok'
    awk -v program=$program '
        /are noticed$/ { for (i = 1; i < NF; i++) if ($i == "of") { n += $(i - 1); m += $(i + 1) } }
        END { print program ": " n " of " m " faults are noticed" }' "mutants_$program.out"
    rm -f "mutants_$program.out"
done
exit $status
