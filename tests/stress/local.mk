# make stress: one program, random work of all parts at once. STRESS_SECONDS (2) and STRESS_SEED are read from the environment.
# Add a part: its file here, its declaration in stress.h, its line in the table of stress.c.
device_tests += %D%/stress
tests_stress_stress_SOURCES = %D%/stress.c %D%/stress.h %D%/stress_waiter.c %D%/stress_pools.c \
	%D%/stress_blocks.c %D%/stress_tasks.c %D%/stress_pipeline.c
