# Tests. A folder's local.mk adds names to one of these lists (see README.md beside this file); NAME is compiled from NAME.c.
#   text_tests    need no device
#   sim_tests     run on the CPU device only
#   device_tests  run twice: as NAME.sim on the CPU device and as NAME.gpu on the GPU
#   gpu_tests     run on the GPU only, as NAME.gpu
#   sh_tests      shell scripts, NAME.sh, executable, shipped
#   generated_tests  scripts that a rule writes into the build tree
#   helgrind_tests  names of TESTS that make check-helgrind runs
#   fault_tests   names of the lists above that take CUJIT_FAULTS=all (make check-faults)

text_tests =
sim_tests =
device_tests =
gpu_tests =
sh_tests =
fault_tests =
helgrind_tests =
generated_tests =

tests_libtest_a_SOURCES =
include %D%/base/local.mk
include %D%/ptx/local.mk
include %D%/math/local.mk
include %D%/blocks/local.mk
include %D%/kernels/local.mk
include %D%/cuda/local.mk
include %D%/driver/local.mk
include %D%/stream/local.mk
include %D%/coordinate/local.mk
include %D%/stress/local.mk
include %D%/sim/local.mk
include %D%/conformance/local.mk
include %D%/tools/local.mk
include %D%/examples/local.mk
include %D%/build/local.mk
include %D%/whole/local.mk
include %D%/fuzz/local.mk
include %D%/clients/local.mk
include %D%/mutants/local.mk

EXTRA_DIST += %D%/README.md %D%/times.sh %D%/tsan.sh %D%/ubsan.sh %D%/valgrind.sh %D%/valgrind.supp $(sh_tests)

# What several tests use, compiled once; a folder adds its files. A test that uses one of them only names it with #include.
check_LIBRARIES += %D%/libtest.a
tests_libtest_a_SOURCES += %D%/tap.c %D%/tap_tiers.c %D%/tap.h %D%/tap_run.c %D%/tap_run.h %D%/peer.h \
	%D%/tap_folder.c %D%/tap_folder.h %D%/latch.c %D%/latch.h %D%/device_bench.c %D%/device_bench.h %D%/device_parts.c %D%/device_parts.h

# Tests reach internals. A test of the shared library itself says so: tests_whole_x_LDADD = $(whole_ldadd)
LDADD = tests/libtest.a $(internals) -lm
whole_ldadd = tests/libtest.a $(libcujit) -lm

check_PROGRAMS += $(text_tests) $(sim_tests) $(device_tests) $(gpu_tests)
sim_runs = $(device_tests:=.sim)
gpu_runs = $(device_tests:=.gpu) $(gpu_tests:=.gpu)
TESTS = $(text_tests) $(sim_tests) $(sim_runs) $(gpu_runs) $(sh_tests) $(generated_tests)
CLEANFILES += $(sim_runs) $(gpu_runs) $(generated_tests)

# A device program's two names are two-line scripts, so that each has its own log and can be run by hand.
$(sim_runs): Makefile
	$(AM_V_GEN)printf '#!/bin/sh\nCUJIT_DRIVER=sim exec $$CUJIT_TEST_WRAP "$${0%%.sim}" "$$@"\n' >$@ && chmod +x $@
$(gpu_runs): Makefile
	$(AM_V_GEN)printf '#!/bin/sh\nCUJIT_DRIVER=cuda exec $$CUJIT_TEST_WRAP "$${0%%.gpu}" "$$@"\n' >$@ && chmod +x $@

AM_TESTS_ENVIRONMENT = \
	CUJIT_DRIVER=sim; export CUJIT_DRIVER; \
	CUJIT_SIM='$(sim_so)'; export CUJIT_SIM; \
	CUJIT_BIN='$(abs_top_builddir)/cujit'; export CUJIT_BIN; \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	CC='$(CC)'; CFLAGS='$(CFLAGS)'; LDFLAGS='$(LDFLAGS)'; export CC CFLAGS LDFLAGS; AWK='$(AWK)'; export AWK; \
	CUJIT_CACHE=0; export CUJIT_CACHE; \
	LC_ALL=C; export LC_ALL;

LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh

# The line to count on: "26 passed, 0 failed, 2 skipped".
AM_TESTSUITE_SUMMARY_HEADER = ' for $(PACKAGE_STRING)'"$$std$$(printf '\n%d passed, %d failed, %d skipped' \
	$$((pass + xfail)) $$((fail + xpass + error)) $$skip)"
