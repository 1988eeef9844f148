sh_tests += %D%/without_environment.sh
device_tests += %D%/expr_command %D%/expr_hypot %D%/small_examples
tests_examples_expr_hypot_SOURCES = %D%/expr_hypot.c examples/expr_kernel.c
tests_examples_expr_hypot_LDADD = $(whole_ldadd)
tests_examples_expr_command_LDADD = tests/libtest.a -lm
tests_examples_small_examples_LDADD = tests/libtest.a
device_tests += %D%/stream_examples
tests_examples_stream_examples_LDADD = $(whole_ldadd)
