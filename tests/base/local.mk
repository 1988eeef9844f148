# Add a test with one word: text_tests += %D%/name (or sim_tests, device_tests, gpu_tests; sh_tests += %D%/name.sh)
text_tests += %D%/objects_and_errors %D%/error_reserve %D%/hooks %D%/short_names
