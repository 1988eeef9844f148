# Examples: one idea in each file, built with the public headers only and linked as a user's program is.
# Add one: its name in example_programs, its _LDADD line, how to run it in tests/examples/without_environment.sh.

example_programs = \
	%D%/all_reduce \
	%D%/expr \
	%D%/fused_gemm \
	%D%/graph_loop \
	%D%/graph_picture \
	%D%/graph_replay \
	%D%/halo \
	%D%/hello \
	%D%/mandelbrot \
	%D%/missing_wait \
	%D%/out_of_bounds \
	%D%/overlap \
	%D%/pipeline_file \
	%D%/pools \
	%D%/reduce \
	%D%/saxpy \
	%D%/scratch_memory \
	%D%/tasks \
	%D%/tasks_pull \
	%D%/tile_product \
	%D%/timeline \
	%D%/trace \
	%D%/transformer \
	%D%/waits_called \
	%D%/waits_polled
noinst_PROGRAMS += $(example_programs)

examples_all_reduce_LDADD = $(libcujit)
examples_expr_SOURCES = %D%/expr.c %D%/expr.h %D%/expr_csv.c %D%/expr_kernel.c %D%/expr_syntax.c
examples_expr_LDADD = $(libcujit) -lm
examples_fused_gemm_LDADD = $(libcujit_kernels) -lm
examples_graph_loop_LDADD = $(libcujit)
examples_graph_picture_LDADD = $(libcujit)
examples_graph_replay_LDADD = $(libcujit)
examples_halo_LDADD = $(libcujit)
examples_hello_LDADD = $(libcujit)
examples_mandelbrot_LDADD = $(libcujit)
examples_missing_wait_LDADD = $(libcujit)
examples_out_of_bounds_LDADD = $(libcujit)
examples_overlap_LDADD = $(libcujit)
examples_pipeline_file_LDADD = $(libcujit)
examples_pools_LDADD = $(libcujit)
examples_reduce_LDADD = $(libcujit)
examples_scratch_memory_LDADD = $(libcujit)
examples_saxpy_LDADD = $(libcujit) -lm
examples_tasks_LDADD = $(libcujit)
examples_tasks_pull_LDADD = $(libcujit)
examples_tile_product_LDADD = $(libcujit)
examples_timeline_LDADD = $(libcujit)
examples_trace_LDADD = $(libcujit)
examples_transformer_LDADD = $(libcujit_kernels) -lm
examples_waits_called_LDADD = $(libcujit)
examples_waits_polled_LDADD = $(libcujit)

EXTRA_DIST += %D%/demo.sh
