text_tests += %D%/json_writer
sh_tests += %D%/cache_command.sh %D%/check_ptx.sh %D%/command.sh %D%/devices.sh %D%/environment.sh %D%/manual.sh %D%/profile.sh %D%/replay_command.sh %D%/run_sim.sh

# Programs that are compiled with NVIDIA's cuda.h where there is one.
sh_tests += %D%/driver_programs.sh
EXTRA_DIST += %D%/drv_check.h %D%/drv_graph.c %D%/drv_library.c %D%/drv_own_stream.c %D%/drv_vector_add.c

# Started by run_sim.sh: somebody else's program, which knows libcuda.so.1 only.
check_PROGRAMS += %D%/uses_libcuda
tests_tools_uses_libcuda_LDADD =

# Started by profile.sh: a program of libcujit that knows nothing of profiles.
check_PROGRAMS += %D%/makes_streams
tests_tools_makes_streams_LDADD = $(libcujit)
