sh_tests += %D%/abi.sh
EXTRA_DIST += %D%/layout.def
