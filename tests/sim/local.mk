# Add a test with one word: text_tests += %D%/name (or sim_tests, device_tests, gpu_tests; sh_tests += %D%/name.sh)
text_tests += %D%/exec_fp_soft_is_ieee_exact
# Conformance of the driver's ABI: on the CPU device and on a GPU.
device_tests += %D%/captures %D%/copies %D%/events %D%/graphs %D%/launches %D%/memory %D%/modules %D%/streams
# What only the CPU device has.
sim_tests += %D%/poisoned %D%/process
EXTRA_DIST += %D%/sim_abi.h
