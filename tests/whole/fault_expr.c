/* examples/expr.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "examples/expr.c"
#define FAULT_ARGS "expr", "--sum", "hypot(lat, lon)", (char *)tap_source("examples/data/places.csv")
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "28667.6185" };
    return faults_main(&program);
}
