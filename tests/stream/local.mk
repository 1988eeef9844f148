# Over the CPU device, watched: which calls the library makes, in which order, and what it does when one of them fails.
tests_libtest_a_SOURCES += %D%/watched.c %D%/watched.h
watched_tests = %D%/beside_captures %D%/call_messages %D%/capture_rules %D%/failures_are_reported %D%/first_failure %D%/launched_lately %D%/deferred_releases %D%/same_context %D%/staged_copies \
	%D%/stream_options %D%/stream_counters %D%/timeouts %D%/mem_ops_and_callbacks %D%/wrong_handles
watched_tests += %D%/graph_old_drivers %D%/wait_failures %D%/pipeline_calls %D%/samples_wait_for_the_clock
watched_tests += %D%/wait_beside_record %D%/rejected_launches %D%/lost_context %D%/quick_launches
sim_tests += $(watched_tests)

# On a device.
tests_libtest_a_SOURCES += %D%/pipeline_parts.c %D%/pipeline_parts.h %D%/profile_texts.c %D%/profile_texts.h
text_tests += %D%/pipeline_depths %D%/pipeline_blames
sim_tests += %D%/pipeline_faults
device_tests += %D%/pipelines %D%/pipeline_failures
sim_tests += %D%/resets_after_faults %D%/faults_name_the_line %D%/blocks_checked %D%/blocks_unchecked
device_tests += %D%/at_exit %D%/default_streams %D%/ipc_memory %D%/ipc_events %D%/barriers %D%/copies_3d %D%/managed_memory %D%/two_devices %D%/held_by_mem_ops %D%/graphs_replay %D%/many_threads %D%/odd_sizes %D%/order_in_time %D%/release_orders
device_tests += %D%/capture_forks %D%/capture_parts %D%/graph_changes %D%/graph_conditions %D%/graph_nodes %D%/disabled_nodes %D%/captured_by_others %D%/capture_takes_graph %D%/random_work %D%/random_work_of_two
tests_libtest_a_SOURCES += %D%/random_programs.c %D%/random_ops.c %D%/random_work.h
device_tests += %D%/profiles %D%/profile_threads
text_tests += %D%/profile_numbers %D%/profile_times %D%/pool_spans
device_tests += %D%/event_pools %D%/stream_pools %D%/pool_times %D%/pools_of_threads
device_tests += %D%/dlpack_tensors %D%/array_interfaces
device_tests += %D%/kernel_occupancy %D%/launch_options %D%/cancelled_threads %D%/cancelled_calls %D%/sixty_four_threads
device_tests += %D%/interop_python
EXTRA_DIST += %D%/interop_python.py
gpu_tests += %D%/interop_runtime
device_tests += %D%/launched_by_name %D%/launched_raw %D%/prepared_launches %D%/module_variables
device_tests += %D%/captures_in_a_loop %D%/failures_reach_streams %D%/fills %D%/freed_memory %D%/graph_mem_ops
device_tests += %D%/memory_of_graphs %D%/records_meet %D%/captured_arguments %D%/calls_beside_capture %D%/frees_hold_no_lock
device_tests += %D%/array_shapes %D%/array_copies %D%/array_nodes %D%/arrays_of_two %D%/texture_objects %D%/texture_reads %D%/texture_views
device_tests += %D%/memory_that_grows %D%/virtual_memory_of_two %D%/registered_memory %D%/memory_mistakes %D%/vmem_of_processes %D%/pools_of_processes
device_tests += %D%/blocks_reused %D%/blocks_limited %D%/blocks_of_captures %D%/blocks_known %D%/random_memory
tests_libtest_a_SOURCES += %D%/random_blocks.c %D%/random_blocks.h
tests_libtest_a_SOURCES += %D%/activities.c %D%/activities.h
EXTRA_DIST += %D%/graph_runs.h
helgrind_tests += %D%/beside_captures %D%/deferred_releases %D%/staged_copies %D%/many_threads.sim %D%/order_in_time.sim %D%/graphs_replay.sim %D%/records_meet.sim
tests_libtest_a_SOURCES += %D%/waits.c %D%/waits.h
device_tests += %D%/wait_results %D%/wait_points %D%/wait_callbacks %D%/wait_races %D%/wait_descriptor %D%/wait_many %D%/wait_host_functions
text_tests += %D%/wait_pauses
helgrind_tests += %D%/wait_descriptor.sim %D%/profile_threads.sim %D%/pipeline_calls
# A tool that NVTX finds.
if WITH_SHARED
device_tests += %D%/profile_nvtx_ranges
check_LTLIBRARIES += %D%/libnvtxstub.la
tests_stream_libnvtxstub_la_SOURCES = %D%/nvtx_stub.c
tests_stream_libnvtxstub_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
endif
# Calls with their hooks and without, whose instructions are counted.
sh_tests += %D%/profile_off.sh
check_PROGRAMS += %D%/profile_off_hooks %D%/profile_off_bare
hooked_sources = %D%/profile_off_calls.c tests/stub_driver.h src/stream/core/stream_launch.c src/stream/core/order.c \
	src/stream/memory/copy_span.c src/stream/memory/fill.c
tests_stream_profile_off_hooks_SOURCES = $(hooked_sources)
tests_stream_profile_off_hooks_CPPFLAGS = $(AM_CPPFLAGS)
tests_stream_profile_off_bare_SOURCES = $(hooked_sources)
tests_stream_profile_off_bare_CPPFLAGS = $(AM_CPPFLAGS) -DCJI_WORK_NO_HOOKS
