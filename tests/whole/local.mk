# Add a test with one word: text_tests += %D%/name (or sim_tests, device_tests, gpu_tests; sh_tests += %D%/name.sh)
# Tests of the whole library, through the shared object.

whole_ldadd = tests/libtap.la libcujit.la -ldl

device_tests += %D%/every_wrong_handle %D%/after_fork
tests_whole_every_wrong_handle_SOURCES = %D%/every_wrong_handle.c %D%/api.c %D%/api.h
tests_whole_every_wrong_handle_LDADD = $(whole_ldadd)
tests_whole_after_fork_SOURCES = %D%/after_fork.c %D%/api.c %D%/api.h
tests_whole_after_fork_LDADD = $(whole_ldadd)

device_tests += %D%/kernels_run %D%/same_bits
tests_whole_kernels_run_LDADD = tests/libtap.la libcujit.la -lm
tests_whole_same_bits_LDADD = tests/libtap.la libcujit-stream.la libcujit-driver.la libcujit-cuda.la libcujit-ptx.la libcujit-base.la -ldl
EXTRA_DIST += tests/oracle/hopper_bits.txt

# Each allocation and each driver call of an example fails in turn: faults.c around the example's own source.
fault_programs = %D%/fault_hello %D%/fault_saxpy %D%/fault_reduce %D%/fault_graph_replay %D%/fault_overlap %D%/fault_mandelbrot %D%/fault_expr \
	%D%/fault_halo %D%/fault_graph_loop %D%/fault_graph_picture
sim_tests += $(fault_programs)
fault_tests += $(fault_programs)
fault_sources = %D%/faults.c %D%/faults_open.c %D%/faults.h
tests_whole_fault_hello_SOURCES = $(fault_sources)
tests_whole_fault_hello_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"examples/hello.c"' -DEXAMPLE_OUTPUT='": y[10] = 21"'
tests_whole_fault_hello_LDADD = $(whole_ldadd)
tests_whole_fault_saxpy_SOURCES = $(fault_sources)
tests_whole_fault_saxpy_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"examples/saxpy.c"' -DEXAMPLE_ARGS='"saxpy", "1000"' \
	-DEXAMPLE_OUTPUT='": 1000 elements, 0 differ"'
tests_whole_fault_saxpy_LDADD = $(whole_ldadd) -lm
tests_whole_fault_reduce_SOURCES = $(fault_sources)
tests_whole_fault_reduce_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"examples/reduce.c"' -DEXAMPLE_OUTPUT='"the sum of 100000 numbers is 49950000"'
tests_whole_fault_reduce_LDADD = $(whole_ldadd)
tests_whole_fault_graph_replay_SOURCES = $(fault_sources)
tests_whole_fault_graph_replay_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"examples/graph_replay.c"' -DEXAMPLE_ARGS='"graph_replay", "3"' \
	-DEXAMPLE_OUTPUT='"of 10 nodes launched 3 times; generator 1 is at 3225111255, 0 of 4096"'
tests_whole_fault_graph_replay_LDADD = $(whole_ldadd)
tests_whole_fault_overlap_SOURCES = $(fault_sources)
tests_whole_fault_overlap_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"examples/overlap.c"' -DEXAMPLE_OUTPUT='"the sum of squares is 87203361984, right"'
tests_whole_fault_overlap_LDADD = $(whole_ldadd)
tests_whole_fault_halo_SOURCES = $(fault_sources)
tests_whole_fault_halo_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"examples/halo.c"' -DEXAMPLE_ARGS='"halo", "2"' \
	-DEXAMPLE_OUTPUT='"2 steps; 8 bytes sent across; 0 cells are wrong"'
tests_whole_fault_halo_LDADD = $(whole_ldadd)
tests_whole_fault_graph_loop_SOURCES = $(fault_sources)
tests_whole_fault_graph_loop_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"examples/graph_loop.c"' -DEXAMPLE_ARGS='"graph_loop", "/dev/null"' \
	-DEXAMPLE_OUTPUT='"one launch took 9 turns; the root of 144 is 12.000, 0 of 1000 are wrong"'
tests_whole_fault_graph_loop_LDADD = $(whole_ldadd)
tests_whole_fault_graph_picture_SOURCES = $(fault_sources)
tests_whole_fault_graph_picture_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"examples/graph_picture.c"' -DEXAMPLE_ARGS='"graph_picture", "/dev/null"' \
	-DEXAMPLE_OUTPUT='"one after another; 0 of 65536 are wrong"'
tests_whole_fault_graph_picture_LDADD = $(whole_ldadd)
tests_whole_fault_mandelbrot_SOURCES = $(fault_sources)
tests_whole_fault_mandelbrot_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"examples/mandelbrot.c"' \
	-DEXAMPLE_ARGS='"mandelbrot", "/dev/null", "16", "8"' -DEXAMPLE_OUTPUT='"16 x 8 pixels"'
tests_whole_fault_mandelbrot_LDADD = $(whole_ldadd)
tests_whole_fault_expr_SOURCES = $(fault_sources) examples/expr_csv.c examples/expr_kernel.c examples/expr_syntax.c
tests_whole_fault_expr_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"examples/expr.c"' \
	-DEXAMPLE_ARGS='"expr", "--sum", "hypot(lat, lon)", (char *)tap_source("examples/data/places.csv")' -DEXAMPLE_OUTPUT='"28667.6185"'
tests_whole_fault_expr_LDADD = $(whole_ldadd) -lm

# The same for workloads, which call what no example does; faults_reach_all finds out whether each public function is called by one.
work_programs = %D%/fault_streams %D%/fault_graphs %D%/fault_devices %D%/fault_code
sim_tests += $(work_programs)
fault_tests += $(work_programs)
EXTRA_DIST += %D%/work.h %D%/work_streams.c %D%/work_graphs.c %D%/work_devices.c %D%/work_code.c
tests_whole_fault_streams_SOURCES = $(fault_sources)
tests_whole_fault_streams_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"tests/whole/work_streams.c"' -DEXAMPLE_RELEASES -DEXAMPLE_OUTPUT='"streams: 16974202"'
tests_whole_fault_streams_LDADD = $(whole_ldadd)
tests_whole_fault_graphs_SOURCES = $(fault_sources)
tests_whole_fault_graphs_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"tests/whole/work_graphs.c"' -DEXAMPLE_RELEASES -DEXAMPLE_OUTPUT='"graphs: 33948479"'
tests_whole_fault_graphs_LDADD = $(whole_ldadd)
tests_whole_fault_devices_SOURCES = $(fault_sources)
tests_whole_fault_devices_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"tests/whole/work_devices.c"' -DEXAMPLE_RELEASES -DEXAMPLE_OUTPUT='"devices: 72"'
tests_whole_fault_devices_LDADD = $(whole_ldadd)
tests_whole_fault_code_SOURCES = $(fault_sources)
tests_whole_fault_code_CPPFLAGS = $(AM_CPPFLAGS) -DEXAMPLE='"tests/whole/work_code.c"' -DEXAMPLE_RELEASES -DEXAMPLE_OUTPUT='"code: 37"'
tests_whole_fault_code_LDADD = $(whole_ldadd)
text_tests += %D%/faults_reach_all
