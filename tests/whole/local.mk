# Tests of the whole library, through the shared object.

tests_libtest_a_SOURCES += %D%/api.c %D%/api.h
device_tests += %D%/every_wrong_handle %D%/after_fork %D%/after_reset
tests_whole_every_wrong_handle_LDADD = $(whole_ldadd)
tests_whole_after_fork_LDADD = $(whole_ldadd)
tests_whole_after_reset_LDADD = $(whole_ldadd)

# They copy the shared object of the CPU device, or use it.
device_tests += %D%/fork_in_flight
tests_whole_fork_in_flight_LDADD = $(whole_ldadd)

sim_tests += %D%/forked_inside_calls
tests_whole_forked_inside_calls_LDADD = $(whole_ldadd)

device_tests += %D%/scope_end
tests_whole_scope_end_LDADD = $(whole_ldadd)

device_tests += %D%/kernels_run %D%/same_bits %D%/same_seeds %D%/same_approximations %D%/whole_approximations
tests_whole_kernels_run_LDADD = $(whole_ldadd)
EXTRA_DIST += tests/oracle/hopper_approximations.txt tests/oracle/hopper_bits.txt tests/oracle/hopper_seeds.txt tests/oracle/whole_approximations.txt %D%/same_bits_edges.h

# Each allocation and each driver call of an example fails in turn: faults.c around the example's own source, fault_X.c.
tests_libtest_a_SOURCES += %D%/faults.c %D%/faults_open.c %D%/faults.h %D%/fault_example.h
fault_programs = %D%/fault_hello %D%/fault_saxpy %D%/fault_reduce %D%/fault_graph_replay %D%/fault_overlap %D%/fault_mandelbrot %D%/fault_expr \
	%D%/fault_halo %D%/fault_graph_loop %D%/fault_graph_picture
sim_tests += $(fault_programs)
fault_tests += $(fault_programs)
tests_whole_fault_hello_LDADD = $(whole_ldadd)
tests_whole_fault_saxpy_LDADD = $(whole_ldadd)
tests_whole_fault_reduce_LDADD = $(whole_ldadd)
tests_whole_fault_graph_replay_LDADD = $(whole_ldadd)
tests_whole_fault_overlap_LDADD = $(whole_ldadd)
tests_whole_fault_halo_LDADD = $(whole_ldadd)
tests_whole_fault_graph_loop_LDADD = $(whole_ldadd)
tests_whole_fault_graph_picture_LDADD = $(whole_ldadd)
tests_whole_fault_mandelbrot_LDADD = $(whole_ldadd)
tests_whole_fault_expr_SOURCES = %D%/fault_expr.c examples/expr_csv.c examples/expr_kernel.c examples/expr_syntax.c
tests_whole_fault_expr_LDADD = $(whole_ldadd)

# The same for workloads, which call what no example does; faults_reach_all finds out whether each public function is called by one.
work_programs = %D%/fault_streams %D%/fault_graphs %D%/fault_devices %D%/fault_code %D%/fault_disk %D%/fault_pools %D%/fault_waiter
work_programs += %D%/fault_arrays %D%/fault_interpose %D%/fault_tasks %D%/fault_profiles %D%/fault_pipeline %D%/fault_records
sim_tests += $(work_programs)
fault_tests += $(work_programs)
EXTRA_DIST += %D%/work.h %D%/work_streams.c %D%/work_graphs.c %D%/work_devices.c %D%/work_code.c %D%/work_disk.c %D%/work_pools.c \
	%D%/work_arrays.c %D%/work_interpose.c %D%/work_waiter.c %D%/work_tasks.c %D%/work_profiles.c %D%/work_pipeline.c %D%/work_records.c
tests_whole_fault_streams_LDADD = $(whole_ldadd)
tests_whole_fault_graphs_LDADD = $(whole_ldadd)
tests_whole_fault_devices_LDADD = $(whole_ldadd)
tests_whole_fault_code_LDADD = $(whole_ldadd)
tests_whole_fault_disk_LDADD = $(whole_ldadd)
tests_whole_fault_pools_LDADD = $(whole_ldadd)
tests_whole_fault_waiter_LDADD = $(whole_ldadd)
tests_whole_fault_arrays_LDADD = $(whole_ldadd)
tests_whole_fault_interpose_LDADD = $(whole_ldadd)
tests_whole_fault_tasks_LDADD = $(whole_ldadd)
tests_whole_fault_profiles_LDADD = $(whole_ldadd)
tests_whole_fault_pipeline_LDADD = $(whole_ldadd)
tests_whole_fault_records_LDADD = $(whole_ldadd)
text_tests += %D%/faults_reach_all
