# Examples: one idea in each file, built with the public headers only and linked as a user's program is.
# Add one: its name in example_programs, its _LDADD line, how to run it in tests/examples/without_environment.sh.

example_programs = \
	%D%/expr \
	%D%/graph_loop \
	%D%/graph_picture \
	%D%/graph_replay \
	%D%/halo \
	%D%/hello \
	%D%/mandelbrot \
	%D%/missing_wait \
	%D%/out_of_bounds \
	%D%/overlap \
	%D%/reduce \
	%D%/saxpy \
	%D%/trace
noinst_PROGRAMS += $(example_programs)

examples_expr_SOURCES = %D%/expr.c %D%/expr.h %D%/expr_csv.c %D%/expr_kernel.c %D%/expr_syntax.c
examples_expr_LDADD = $(libcujit) -lm
examples_graph_loop_LDADD = $(libcujit)
examples_graph_picture_LDADD = $(libcujit)
examples_graph_replay_LDADD = $(libcujit)
examples_halo_LDADD = $(libcujit)
examples_hello_LDADD = $(libcujit)
examples_mandelbrot_LDADD = $(libcujit)
examples_missing_wait_LDADD = $(libcujit)
examples_out_of_bounds_LDADD = $(libcujit)
examples_overlap_LDADD = $(libcujit)
examples_reduce_LDADD = $(libcujit)
examples_saxpy_LDADD = $(libcujit) -lm
examples_trace_LDADD = $(libcujit)

EXTRA_DIST += %D%/demo.sh
