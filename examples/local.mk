# examples: one idea in each file, built against the public headers only and linked with the shared library.
# Add one with:  noinst_PROGRAMS += %D%/x
#                examples_x_CPPFLAGS = $(example_cppflags)
#                examples_x_LDADD = $(example_ldadd)

example_cppflags = -I$(top_srcdir)/include
example_ldadd = libcujit.la
EXTRA_DIST += %D%/demo.sh
