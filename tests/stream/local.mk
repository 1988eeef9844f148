# Add a test with one word: text_tests += %D%/name (or sim_tests, device_tests, gpu_tests; sh_tests += %D%/name.sh)

# Over a fake driver of the tests' own: the order of calls, without a device.
fake_driver = %D%/fake.c %D%/fake.h %D%/fake_calls.c %D%/fake_parts.h %D%/fake_work.c
fake_stream_tests = %D%/beside_captures %D%/capture_rules %D%/failures_are_reported %D%/first_failure %D%/deferred_releases %D%/same_context %D%/staged_copies %D%/stream_faults \
	%D%/stream_options %D%/stream_counters %D%/timeouts %D%/mem_ops_and_callbacks %D%/wrong_handles
fake_stream_tests += %D%/graph_old_drivers
tests_stream_graph_old_drivers_SOURCES = %D%/graph_old_drivers.c $(fake_driver)
text_tests += $(fake_stream_tests)
tests_stream_beside_captures_SOURCES = %D%/beside_captures.c $(fake_driver)
tests_stream_capture_rules_SOURCES = %D%/capture_rules.c $(fake_driver)
tests_stream_failures_are_reported_SOURCES = %D%/failures_are_reported.c $(fake_driver)
tests_stream_first_failure_SOURCES = %D%/first_failure.c $(fake_driver)
tests_stream_deferred_releases_SOURCES = %D%/deferred_releases.c $(fake_driver)
tests_stream_same_context_SOURCES = %D%/same_context.c $(fake_driver)
tests_stream_staged_copies_SOURCES = %D%/staged_copies.c $(fake_driver)
tests_stream_stream_faults_SOURCES = %D%/stream_faults.c $(fake_driver)
tests_stream_stream_options_SOURCES = %D%/stream_options.c $(fake_driver)
tests_stream_wrong_handles_SOURCES = %D%/wrong_handles.c $(fake_driver)
tests_stream_stream_counters_SOURCES = %D%/stream_counters.c $(fake_driver)
tests_stream_timeouts_SOURCES = %D%/timeouts.c $(fake_driver)
tests_stream_mem_ops_and_callbacks_SOURCES = %D%/mem_ops_and_callbacks.c $(fake_driver)

# On a device.
device_tests += %D%/at_exit %D%/default_streams %D%/ipc_memory %D%/ipc_events %D%/barriers %D%/copies_3d %D%/managed_memory %D%/two_devices %D%/held_by_mem_ops %D%/graphs_replay %D%/many_threads %D%/odd_sizes %D%/order_in_time %D%/release_orders
device_tests += %D%/capture_forks %D%/capture_parts %D%/graph_changes %D%/graph_conditions %D%/graph_nodes %D%/disabled_nodes %D%/captured_by_others %D%/capture_takes_graph %D%/random_work %D%/random_work_of_two
random_work = %D%/random_programs.c %D%/random_ops.c %D%/random_work.h
tests_stream_random_work_SOURCES = %D%/random_work.c $(random_work)
tests_stream_random_work_of_two_SOURCES = %D%/random_work_of_two.c $(random_work)
device_tests += %D%/captures_in_a_loop %D%/graph_mem_ops
device_tests += %D%/memory_of_graphs
tests_stream_captures_in_a_loop_SOURCES = %D%/captures_in_a_loop.c %D%/activities.c %D%/activities.h
EXTRA_DIST += %D%/graph_bench.h %D%/latch.h
helgrind_tests += %D%/beside_captures %D%/deferred_releases %D%/staged_copies %D%/many_threads.sim %D%/order_in_time.sim %D%/graphs_replay.sim
