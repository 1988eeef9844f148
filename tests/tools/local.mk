text_tests += %D%/json_writer
sh_tests += %D%/check_ptx.sh %D%/command.sh %D%/devices.sh %D%/environment.sh %D%/manual.sh %D%/run_sim.sh

# Started by run_sim.sh: somebody else's program, which knows libcuda.so.1 only.
check_PROGRAMS += %D%/uses_libcuda
tests_tools_uses_libcuda_LDADD =
