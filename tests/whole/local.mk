# Add a test with one word: text_tests += %D%/name (or sim_tests, device_tests, gpu_tests; sh_tests += %D%/name.sh)
sim_tests += %D%/wrong_handles
tests_whole_wrong_handles_LDADD = tests/libtap.la libcujit.la -ldl
