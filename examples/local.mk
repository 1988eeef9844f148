# examples: one idea in each file, built against the public headers only and linked with the shared library.
# Add one with:  noinst_PROGRAMS += %D%/x
#                examples_x_CPPFLAGS = $(example_cppflags)
#                examples_x_LDADD = $(example_ldadd)

example_cppflags = -I$(top_srcdir)/include
example_ldadd = $(libcujit)
EXTRA_DIST += %D%/demo.sh

noinst_PROGRAMS += %D%/hello %D%/saxpy %D%/reduce %D%/mandelbrot %D%/expr
examples_hello_CPPFLAGS = $(example_cppflags)
examples_hello_LDADD = $(example_ldadd)
examples_saxpy_CPPFLAGS = $(example_cppflags)
examples_saxpy_LDADD = $(example_ldadd) -lm
examples_reduce_CPPFLAGS = $(example_cppflags)
examples_reduce_LDADD = $(example_ldadd)
examples_mandelbrot_CPPFLAGS = $(example_cppflags)
examples_mandelbrot_LDADD = $(example_ldadd)
examples_expr_SOURCES = %D%/expr.c %D%/expr_csv.c %D%/expr_syntax.c %D%/expr_kernel.c %D%/expr.h
examples_expr_CPPFLAGS = $(example_cppflags)
examples_expr_LDADD = $(example_ldadd) -lm
EXTRA_DIST += %D%/data/places.csv %D%/data/make-places.sh %D%/data/README.md

noinst_PROGRAMS += %D%/graph_replay %D%/overlap
examples_graph_replay_CPPFLAGS = $(example_cppflags)
examples_graph_replay_LDADD = $(example_ldadd)
examples_overlap_CPPFLAGS = $(example_cppflags)
examples_overlap_LDADD = $(example_ldadd)

noinst_PROGRAMS += %D%/halo
examples_halo_CPPFLAGS = $(example_cppflags)
examples_halo_LDADD = $(example_ldadd)
noinst_PROGRAMS += %D%/graph_loop %D%/graph_picture
examples_graph_loop_CPPFLAGS = $(example_cppflags)
examples_graph_loop_LDADD = $(example_ldadd)
examples_graph_picture_CPPFLAGS = $(example_cppflags)
examples_graph_picture_LDADD = $(example_ldadd)
