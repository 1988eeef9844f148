# libcujit-kernels: against plain C beside each test.  The tests use what a user has: the two shared libraries.
device_tests += %D%/reduces %D%/scans %D%/kernel_objects %D%/norms_of_rows %D%/elements %D%/gemvs %D%/gemms
device_tests += %D%/gemm_paths %D%/gemm_tiles %D%/gemm_wgmma_tiles %D%/attentions %D%/aligned_rows
device_tests += %D%/printed_kernels %D%/workspaces %D%/long_scans %D%/moved_products %D%/long_attention
device_tests += %D%/gemm_epilogues %D%/gemm_forced %D%/gemm_whole_tiles
device_tests += %D%/reduce_types %D%/reduce_options %D%/element_types
device_tests += %D%/repeat_bits
device_tests += %D%/gemm_mma_tiles %D%/gemm_long_sums %D%/gemm_numbers %D%/gemm_nonfinite
text_tests += %D%/gemm_lists %D%/gemm_texts %D%/row_texts %D%/repeated_launches
sim_tests += %D%/fault_kernels %D%/kernels_assembled %D%/older_devices
fault_tests += %D%/fault_kernels
EXTRA_DIST += %D%/work_kernels.c
sh_tests += %D%/kernels_exports.sh %D%/launch_cost.sh

# The figures in docs/kernels.md and docs/performance.md.  BENCH: outputs of bench/kernels on a GPU, recorded first.
sh_tests += %D%/figures_document.sh
EXTRA_DIST += %D%/figures_document.awk %D%/figures_record.awk tests/oracle/kernel_speed.txt tests/oracle/kernel_speed_others.txt
CLEANFILES += figures.new
BENCH =
.PHONY: kernels-doc
kernels-doc:
	@export top_srcdir=$(top_srcdir); make_figures='$(SHELL) $(top_srcdir)/%D%/figures_document.sh'; \
	test -z '$(BENCH)' || { $$make_figures record $(BENCH) >figures.new && mv figures.new "$$($$make_figures file $(BENCH))"; } && \
	for name in kernels performance; do \
	  $$make_figures print $(top_srcdir)/docs/$$name.md >figures.new && mv figures.new $(top_srcdir)/docs/$$name.md || exit 1; \
	done

check_LIBRARIES += %D%/libkernelsbench.a
tests_kernels_libkernelsbench_a_SOURCES = %D%/kernels_bench.c %D%/kernels_bench.h \
  %D%/gemm_products.c %D%/gemm_products.h
kernels_ldadd = %D%/libkernelsbench.a tests/libtest.a $(libcujit_kernels) -lm
tests_kernels_reduces_LDADD = $(kernels_ldadd)
tests_kernels_scans_LDADD = $(kernels_ldadd)
tests_kernels_older_devices_LDADD = $(kernels_ldadd)
tests_kernels_workspaces_LDADD = $(kernels_ldadd)
tests_kernels_reduce_types_LDADD = $(kernels_ldadd)
tests_kernels_reduce_options_LDADD = $(kernels_ldadd)
tests_kernels_element_types_LDADD = $(kernels_ldadd)
tests_kernels_long_scans_LDADD = $(kernels_ldadd)
tests_kernels_kernel_objects_LDADD = $(kernels_ldadd)
tests_kernels_fault_kernels_LDADD = $(kernels_ldadd)
tests_kernels_norms_of_rows_LDADD = $(kernels_ldadd)
tests_kernels_elements_LDADD = $(kernels_ldadd)
tests_kernels_attentions_LDADD = $(kernels_ldadd)
tests_kernels_moved_products_LDADD = $(kernels_ldadd)
tests_kernels_long_attention_LDADD = $(kernels_ldadd)
tests_kernels_repeat_bits_LDADD = $(kernels_ldadd)
tests_kernels_gemms_LDADD = $(kernels_ldadd)
tests_kernels_gemm_texts_LDADD = tests/libtest.a .libs/libcujit-kernelcode.a $(libcujit) -lm
tests_kernels_repeated_launches_SOURCES = %D%/repeated_launches.c tests/stub_driver.h
tests_kernels_repeated_launches_LDADD = $(kernels_ldadd)
tests_kernels_gemm_lists_LDADD = $(tests_kernels_gemm_texts_LDADD)
tests_kernels_row_texts_LDADD = $(tests_kernels_gemm_texts_LDADD)
tests_kernels_gemm_tiles_LDADD = %D%/libkernelsbench.a tests/libtest.a .libs/libcujit-kernelcode.a $(libcujit) -lm
tests_kernels_gemm_tiles_LINK = $(LINK) -Wl,--wrap=cjk_gemm_choose
tests_kernels_gemm_mma_tiles_LDADD = $(tests_kernels_gemm_tiles_LDADD)
tests_kernels_gemm_mma_tiles_LINK = $(tests_kernels_gemm_tiles_LINK)
tests_kernels_gemm_long_sums_LDADD = $(kernels_ldadd)
tests_kernels_gemm_numbers_LDADD = $(kernels_ldadd)
tests_kernels_gemm_nonfinite_LDADD = $(kernels_ldadd)
tests_kernels_gemm_paths_LDADD = $(kernels_ldadd)
tests_kernels_gemm_epilogues_LDADD = $(kernels_ldadd)
tests_kernels_gemm_forced_LDADD = $(kernels_ldadd)
tests_kernels_gemm_whole_tiles_LDADD = $(kernels_ldadd)
tests_kernels_gemm_wgmma_tiles_LDADD = $(kernels_ldadd)
tests_kernels_gemvs_LDADD = $(kernels_ldadd)
tests_kernels_aligned_rows_LDADD = $(kernels_ldadd)
tests_kernels_printed_kernels_LDADD = $(kernels_ldadd)
tests_kernels_kernels_assembled_LDADD = $(kernels_ldadd)
