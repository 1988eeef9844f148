# Over a fake driver that a case describes.
text_tests += %D%/dims_remembered %D%/arguments %D%/compiling %D%/device_failures %D%/driver_failures %D%/missing_symbols %D%/options %D%/values_and_enums %D%/interposed_driver %D%/faults_by_text %D%/trace_names

text_tests += %D%/tensor_maps
device_tests += %D%/tensor_copies %D%/tile_copies %D%/wide_grids
text_tests += %D%/loads_in_turn %D%/newer_instructions %D%/linker_failures %D%/targets_of_devices %D%/shared_limits %D%/faster_code %D%/launch_needs %D%/code_queries
EXTRA_DIST += %D%/link_samples.h
tests_libtest_a_SOURCES += %D%/libfake.c %D%/libfake.h
tests_libtest_a_SOURCES += %D%/record_parts.c %D%/record_parts.h

# The kernel cache: on disk without a driver, and under modules.
text_tests += %D%/cache_counts %D%/cache_entries %D%/cache_folders %D%/cache_ready %D%/cache_recent %D%/cache_sweeps %D%/cache_killed %D%/cache_processes %D%/cache_cleaned %D%/cache_network %D%/memo_threads
text_tests += %D%/memo_steps %D%/cache_of_resolvers
device_tests += %D%/cache_ahead %D%/cache_of_loads %D%/kernel_caches
tests_libtest_a_SOURCES += %D%/cache_parts.c %D%/cache_parts.h
EXTRA_DIST += %D%/cache_faults.h

# Recordings of driver calls as files; the kernel cache among files of others.
sim_tests += %D%/record_files %D%/cache_foreign_files

# What a first launch asks the driver for.
sim_tests += %D%/first_launch_calls

# The rules of the occupancy calculator alone.
text_tests += %D%/occupancy_rules

# Over the real ones.
device_tests += %D%/called_functions %D%/inlined_functions %D%/linker_inputs %D%/compiler_queue %D%/compiler_results %D%/text_operands %D%/ptx_to_driver %D%/context_kept %D%/device_resets %D%/foreign_handles %D%/one_load %D%/record_replays %D%/released_in_any_order %D%/trace_of_calls

# A shared object that stands for libcuda.so.1.
if WITH_SHARED
sim_tests += %D%/driver_versions %D%/trace_of_opened %D%/one_log %D%/which_driver %D%/wrong_sim
check_LTLIBRARIES += %D%/libfakecuda.la
tests_driver_libfakecuda_la_SOURCES = %D%/fakecuda.c
tests_driver_libfakecuda_la_LIBADD = libcujit-cuda.la
tests_driver_libfakecuda_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
check_LTLIBRARIES += %D%/libothersim.la
tests_driver_libothersim_la_SOURCES = %D%/othersim.c
tests_driver_libothersim_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
# Plugins of a program that is not linked with the library.
device_tests += %D%/plugins
tests_driver_plugins_LDADD = tests/libtest.a
check_LTLIBRARIES += %D%/libplugin.la %D%/libpluginwhole.la
tests_driver_libplugin_la_SOURCES = %D%/plugin.c
tests_driver_libplugin_la_LIBADD = libcujit.la
tests_driver_libplugin_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
tests_driver_libpluginwhole_la_SOURCES = %D%/plugin.c
tests_driver_libpluginwhole_la_CPPFLAGS = $(AM_CPPFLAGS)
tests_driver_libpluginwhole_la_LIBADD = $(libcujit_la_LIBADD)
tests_driver_libpluginwhole_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
endif
