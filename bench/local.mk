# bench: programs that print `name value unit` lines. Add one to bench_programs; `make bench` builds and runs them all.

bench_programs =
bench_programs += %D%/driver %D%/host
driver_bench_sources = %D%/driver_bench.c %D%/driver_bench.h %D%/driver_cold.c %D%/driver_compile.c %D%/driver_hits.c \
	%D%/driver_objects.c %D%/driver_products.c %D%/judge.c %D%/judge.h
bench_driver_SOURCES = $(driver_bench_sources)
bench_driver_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_LIMITS='"$(abs_top_srcdir)/%D%/limits"' -DBENCH_NAME='"driver"' -DBENCH_KIND='"cuda"'
bench_driver_LDADD = $(libcujit_kernels)
bench_host_SOURCES = $(driver_bench_sources)
bench_host_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_LIMITS='"$(abs_top_srcdir)/%D%/limits"' -DBENCH_NAME='"host"' -DBENCH_KIND='"sim"'
bench_host_LDADD = $(libcujit_kernels)
bench_programs += %D%/emit
bench_programs += %D%/kernels
bench_kernels_SOURCES = %D%/kernels.c %D%/kernels_cases.c %D%/kernels_cases.h %D%/judge.c %D%/judge.h
bench_kernels_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_LIMITS='"$(abs_top_srcdir)/%D%/limits"' -DBENCH_TORCH='"$(abs_top_srcdir)/%D%/kernels_torch.py"'
bench_kernels_LDADD = $(libcujit_kernels)
EXTRA_DIST += %D%/kernels_torch.py
bench_programs += %D%/launch
bench_launch_SOURCES = %D%/launch.c %D%/judge.c %D%/judge.h tests/stub_driver.h
bench_launch_LDADD = $(libcujit_kernels)
bench_programs += %D%/load
bench_load_SOURCES = %D%/load.c tests/sim/long_texts.h
bench_load_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_SAMPLES='"$(abs_top_srcdir)/tests/ptx/samples"'
bench_load_LDADD = $(internals) -lm
bench_programs += %D%/math
bench_math_SOURCES = %D%/math.c %D%/judge.c %D%/judge.h tests/math/math_functions.c tests/math/math_functions.h \
	tests/math/math_functions.def
bench_math_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_LIMITS='"$(abs_top_srcdir)/%D%/limits"'
bench_math_LDADD = $(libcujit) -lm
EXTRA_DIST += %D%/math_peers.cu %D%/math_peers.sh %D%/math_pipes.awk %D%/math_pipes.sh
bench_programs += %D%/pool
bench_pool_SOURCES = %D%/pool.c %D%/pool_bench.h %D%/pool_handles.c %D%/pool_pipeline.c %D%/pool_alloc.c %D%/pool_waiter.c %D%/pool_strategies.c \
	%D%/pool_coord.c
bench_pool_SOURCES += %D%/pool_profile.c %D%/judge.c %D%/judge.h
bench_pool_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_LIMITS='"$(abs_top_srcdir)/%D%/limits"'
bench_pool_LDADD = $(libcujit) -lm
bench_programs += %D%/sim
bench_sim_SOURCES = %D%/sim.c %D%/sim_bench.h %D%/sim_bench_kernels.c %D%/sim_bench_forms.c \
	%D%/sim_bench_loops.c %D%/sim_bench_accesses.c %D%/sim_bench_others.c %D%/sim_bench_calls.c
bench_sim_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_SIM='"$(sim_so)"'
bench_sim_CFLAGS = $(AM_CFLAGS) -ffp-contract=off -fwrapv
bench_sim_LDADD = $(internals) -lm
bench_programs += %D%/stream
bench_stream_SOURCES = %D%/stream_ratios.c %D%/judge.c %D%/judge.h
bench_stream_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_LIMITS='"$(abs_top_srcdir)/%D%/limits"'
bench_stream_LDADD = $(libcujit) -lm
EXTRA_DIST += %D%/limits %D%/pool_torch.py
EXTRA_PROGRAMS = $(bench_programs)
