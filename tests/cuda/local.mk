sh_tests += %D%/abi.sh
sim_tests += %D%/every_export
EXTRA_DIST += %D%/abi_headers.sh %D%/layout.def %D%/libcuda.names %D%/libcuda_graphics.names
