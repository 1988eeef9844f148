# Add a test with one word: text_tests += %D%/name (or sim_tests, device_tests, gpu_tests; sh_tests += %D%/name.sh)
# Tests of the whole library, through the shared object.

whole_ldadd = tests/libtap.la libcujit.la -ldl

device_tests += %D%/every_wrong_handle %D%/after_fork
tests_whole_every_wrong_handle_SOURCES = %D%/every_wrong_handle.c %D%/api.c %D%/api.h
tests_whole_every_wrong_handle_LDADD = $(whole_ldadd)
tests_whole_after_fork_SOURCES = %D%/after_fork.c %D%/api.c %D%/api.h
tests_whole_after_fork_LDADD = $(whole_ldadd)

device_tests += %D%/kernels_run %D%/same_bits
tests_whole_kernels_run_LDADD = tests/libtap.la libcujit.la -lm
tests_whole_same_bits_LDADD = tests/libtap.la libcujit-stream.la libcujit-driver.la libcujit-cuda.la libcujit-ptx.la libcujit-base.la -ldl
EXTRA_DIST += tests/oracle/hopper_bits.txt
