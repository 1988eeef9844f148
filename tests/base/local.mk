text_tests += %D%/objects_and_errors %D%/error_reserve %D%/hooks %D%/lock_order %D%/short_names %D%/secure_environment %D%/handles_of_cells %D%/what_threads_own %D%/limits_end_no_program %D%/hash_of_bytes
EXTRA_DIST += %D%/hash_values.def
