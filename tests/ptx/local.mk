# Add a test with one word: text_tests += %D%/name (or sim_tests, device_tests, gpu_tests; sh_tests += %D%/name.sh)

# The reader.
text_tests += %D%/parse_words %D%/parse_wrong %D%/parse_samples %D%/parse_fuzz %D%/parse_nomem %D%/parse_built %D%/parse_ptxas
EXTRA_DIST += %D%/samples/saxpy.ptx %D%/samples/reduce.ptx %D%/samples/histogram.ptx %D%/samples/calls.ptx %D%/samples/half.ptx %D%/samples/switch.ptx \
	%D%/samples/interpret.ptx %D%/samples/constant.ptx %D%/samples/print.ptx %D%/samples/loops.ptx %D%/samples/math.ptx %D%/samples/lines.ptx \
	%D%/samples/debug.ptx %D%/samples/syntax.ptx
