# Over the CPU device, watched: which calls the library makes, in which order, and what it does when one of them fails.
tests_libtest_a_SOURCES += %D%/watched.c %D%/watched.h
watched_tests = %D%/beside_captures %D%/call_messages %D%/capture_rules %D%/failures_are_reported %D%/first_failure %D%/launched_lately %D%/deferred_releases %D%/same_context %D%/staged_copies \
	%D%/stream_options %D%/stream_counters %D%/timeouts %D%/mem_ops_and_callbacks %D%/wrong_handles
watched_tests += %D%/graph_old_drivers
sim_tests += $(watched_tests)

# On a device.
sim_tests += %D%/faults_name_the_line
device_tests += %D%/at_exit %D%/default_streams %D%/ipc_memory %D%/ipc_events %D%/barriers %D%/copies_3d %D%/managed_memory %D%/two_devices %D%/held_by_mem_ops %D%/graphs_replay %D%/many_threads %D%/odd_sizes %D%/order_in_time %D%/release_orders
device_tests += %D%/capture_forks %D%/capture_parts %D%/graph_changes %D%/graph_conditions %D%/graph_nodes %D%/disabled_nodes %D%/captured_by_others %D%/capture_takes_graph %D%/random_work %D%/random_work_of_two
tests_libtest_a_SOURCES += %D%/random_programs.c %D%/random_ops.c %D%/random_work.h
device_tests += %D%/captures_in_a_loop %D%/failures_reach_streams %D%/fills %D%/freed_memory %D%/graph_mem_ops
device_tests += %D%/memory_of_graphs %D%/records_meet %D%/captured_arguments %D%/calls_beside_capture %D%/frees_hold_no_lock
tests_libtest_a_SOURCES += %D%/activities.c %D%/activities.h
EXTRA_DIST += %D%/graph_runs.h
helgrind_tests += %D%/beside_captures %D%/deferred_releases %D%/staged_copies %D%/many_threads.sim %D%/order_in_time.sim %D%/graphs_replay.sim %D%/records_meet.sim
