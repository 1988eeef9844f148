# What only the CPU device has.
sim_tests += %D%/fat_binaries
EXTRA_DIST += %D%/fat_samples.h %D%/deadlock_bench.h
sim_tests += \
	%D%/addresses_without_memory \
	%D%/array_limits \
	%D%/blocked_host_functions \
	%D%/context_faults \
	%D%/damaged_images \
	%D%/deadlock_members \
	%D%/deadlock_open_ends \
	%D%/deadlocks_and_stalls \
	%D%/each_schedule \
	%D%/fault_fields \
	%D%/freed_host_memory \
	%D%/freed_twice_at_once \
	%D%/kernels_of_textures \
	%D%/killed_process \
	%D%/linker_threads \
	%D%/no_memory \
	%D%/peer_contexts \
	%D%/pools_of_the_host \
	%D%/process_life \
	%D%/random_schedules \
	%D%/registers_are_estimated \
	%D%/sealed_files \
	%D%/sizes_that_wrap \
	%D%/teardown_order \
	%D%/coarse_bounds \
	%D%/queued_work
fault_tests += %D%/no_memory

# A program that has a libcuda's names, and a module that does.
if WITH_SHARED
sim_tests += %D%/decoy
tests_sim_decoy_SOURCES = %D%/decoy.c %D%/decoy_libcuda.c %D%/decoy_libcuda.h
tests_sim_decoy_CPPFLAGS = $(AM_CPPFLAGS)
tests_sim_decoy_LINK = $(LINK) -Wl,--export-dynamic
tests_sim_decoy_LDADD = tests/libtest.a
check_LTLIBRARIES += %D%/libdecoy.la
tests_sim_libdecoy_la_SOURCES = %D%/decoy_libcuda.c %D%/decoy_libcuda.h
tests_sim_libdecoy_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
endif
text_tests += \
	%D%/exec_atomics_of_threads \
	%D%/exec_blocks_give_way \
	%D%/exec_bulk_copies \
	%D%/exec_calls_pass_registers \
	%D%/exec_common_shared \
	%D%/exec_dynamic_shared_ends \
	%D%/exec_faults_are_named \
	%D%/exec_faults_carry_their_facts \
	%D%/exec_fp_soft_is_ieee_exact \
	%D%/exec_instructions_give_what_the_manual_says \
	%D%/exec_kernels_of_nvcc_run %D%/exec_declarations_run \
	%D%/exec_lanes_meet_again \
	%D%/exec_approximations_equal_lanes \
	%D%/exec_half_approximations \
	%D%/exec_layouts \
	%D%/exec_long_texts \
	%D%/exec_memory_runs_out \
	%D%/exec_modifiers_are_executed_or_rejected \
	%D%/exec_post_dominators \
	%D%/exec_printf_is_bounded \
	%D%/exec_quick_accesses_equal_lanes \
	%D%/exec_threads_share_a_grid \
	%D%/exec_parts_and_shuffles_equal_lanes \
	%D%/exec_vectors_equal_lanes \
	%D%/matrix_faults \
	%D%/wgmma_waits
EXTRA_DIST += %D%/exec_harness.h %D%/long_texts.h %D%/kernels/exec.cu %D%/kernels/exec.ptx
EXTRA_DIST += %D%/kernels/registers.cu %D%/kernels/registers.ptx tests/oracle/registers.txt
helgrind_tests += %D%/linker_threads %D%/peer_contexts %D%/blocked_host_functions
