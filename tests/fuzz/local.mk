# Fuzzing (fuzz.h): each target is a test that runs for a second of processor time; make fuzz runs them for longer.

fuzz_targets = reader load run driver container fatbin recording expr
fuzz_programs = $(fuzz_targets:%=tests/fuzz/fuzz_%)
check_LIBRARIES += %D%/libfuzz.a
tests_fuzz_libfuzz_a_SOURCES = %D%/fuzz.h %D%/fuzz_main.c %D%/fuzz_mutate.c %D%/fuzz_text.c
text_tests += %D%/fuzz_reader %D%/fuzz_run %D%/fuzz_expr
sim_tests += %D%/fuzz_load %D%/fuzz_driver %D%/fuzz_container %D%/fuzz_fatbin %D%/fuzz_recording
fuzz_ldadd = %D%/libfuzz.a $(LDADD)
tests_fuzz_fuzz_reader_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_load_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_run_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_driver_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_container_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_fatbin_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_recording_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_expr_SOURCES = %D%/fuzz_expr.c examples/expr_csv.c examples/expr_kernel.c examples/expr_syntax.c
tests_fuzz_fuzz_expr_LDADD = $(fuzz_ldadd)
EXTRA_DIST += %D%/fuzz_driver.h %D%/fuzz_libfuzzer.c %D%/libfuzzer.sh
