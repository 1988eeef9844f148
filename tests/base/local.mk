text_tests += %D%/objects_and_errors %D%/error_reserve %D%/hooks %D%/short_names
