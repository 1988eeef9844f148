# Add a test with one word: text_tests += %D%/name (or sim_tests, device_tests, gpu_tests; sh_tests += %D%/name.sh)
sh_tests += %D%/abi.sh
EXTRA_DIST += %D%/layout.def
