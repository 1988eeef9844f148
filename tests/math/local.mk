# Device mathematics.
device_tests += %D%/complex_functions %D%/half_functions %D%/mpfr_values
EXTRA_DIST += %D%/mpfr_values.txt %D%/record_mpfr.py
text_tests += %D%/no_contraction
sim_tests += %D%/functions_f32 %D%/functions_f64
device_tests += %D%/special_values %D%/typed_functions
tests_math_functions_f32_SOURCES = %D%/functions_f32.c %D%/references.c %D%/references.h %D%/text_mutants.c \
	%D%/text_mutants.h %D%/wanted.h %D%/wanted_f32.c
tests_math_functions_f64_SOURCES = %D%/functions_f64.c %D%/wide_references.c %D%/wide_references.h %D%/text_mutants.c \
	%D%/text_mutants.h %D%/wanted.h %D%/wanted_f64.c
check_PROGRAMS += %D%/check_math
error_passes = %D%/error_passes.c %D%/error_passes.h %D%/error_kernels.c %D%/error_kernels.h %D%/math_functions.c \
	%D%/math_functions.h %D%/math_functions.def %D%/references.c %D%/references.h %D%/wide_references.c \
	%D%/wide_references.h %D%/wanted.h %D%/wanted_f32.c %D%/wanted_f64.c
tests_math_check_math_SOURCES = %D%/check_math.c %D%/error_lines.c %D%/error_lines.h $(error_passes)
tests_math_half_functions_SOURCES = %D%/half_functions.c %D%/error_lines.c %D%/error_lines.h
tests_math_complex_functions_SOURCES = %D%/complex_functions.c %D%/error_lines.c %D%/error_lines.h
device_tests += %D%/error_judge %D%/function_loops
tests_math_error_judge_SOURCES = %D%/error_judge.c $(error_passes)
tests_math_function_loops_SOURCES = %D%/function_loops.c %D%/math_functions.c %D%/math_functions.h %D%/math_functions.def
EXTRA_DIST += %D%/judge_mpfr.py tests/oracle/math_errors.txt
sh_tests += %D%/instructions.sh
check_PROGRAMS += %D%/function_texts
tests_math_function_texts_SOURCES = %D%/function_texts.c
sh_tests += %D%/math_document.sh
EXTRA_DIST += $(wildcard $(srcdir)/tests/oracle/math_speed.txt)
EXTRA_DIST += %D%/math_document.awk %D%/math_mutants.sh %D%/count_paths.awk %D%/count_ptx.awk %D%/count_sass.awk %D%/cuda_counts.txt %D%/own_counts.txt

# The tables of docs/mathematics.md, from what the tests record.
math_doc_programs = %D%/complex_functions %D%/function_texts %D%/functions_f32 %D%/functions_f64 %D%/half_functions \
	%D%/mpfr_values %D%/special_values
math-doc: $(math_doc_programs)
	top_srcdir=$(top_srcdir) top_builddir=. $(SHELL) $(top_srcdir)/tests/math/math_document.sh print >mathematics.md.new && \
	  mv mathematics.md.new $(top_srcdir)/docs/mathematics.md
.PHONY: math-doc
