/* The texts of PTX that targets start from (fuzz.h). */
#include "tests/fuzz/fuzz.h"

const char *const cji_fuzz_texts[] = {
    "tests/ptx/samples/saxpy.ptx",  "tests/ptx/samples/calls.ptx", "tests/ptx/samples/constant.ptx",
    "tests/ptx/samples/switch.ptx", "tests/ptx/samples/lines.ptx", "tests/ptx/samples/syntax.ptx",
    "tests/ptx/samples/debug.ptx",  "tests/ptx/samples/half.ptx",  "tests/ptx/samples/print.ptx",
    "tests/ptx/samples/loops.ptx",  "tests/sim/kernels/exec.ptx",
};
const size_t cji_fuzz_ntexts = sizeof cji_fuzz_texts / sizeof *cji_fuzz_texts;
