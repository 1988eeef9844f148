# Tests of the build itself and of the order of the house.
text_tests += %D%/tap_itself
sh_tests += \
	%D%/needed.sh \
	%D%/exports.sh \
	%D%/first_launch.sh \
	%D%/folders.sh \
	%D%/one_unit.sh \
	%D%/lines_current.sh \
	%D%/every_macro.sh \
	%D%/nested_verbs.sh \
	%D%/style_checks.sh \
	%D%/mnemonics.sh \
	%D%/hello_languages.sh \
	%D%/dlopen_user.sh \
	%D%/statics_at_exit.sh \
	%D%/release_lists.sh \
	%D%/mutants_apply.sh

# What the documents quote, and what the headers say.
sim_tests += %D%/readme_figures
sh_tests += \
	%D%/documents.sh \
	%D%/header_comments.sh \
	%D%/transcripts.sh

EXTRA_DIST += \
	%D%/sh_tap.sh \
	%D%/bare.sh \
	%D%/columns.sh \
	%D%/format.sh \
	%D%/words.sh \
	%D%/words.txt \
	%D%/installed.sh \
	%D%/headers.sh \
	%D%/every_call.sh \
	%D%/cmake/CMakeLists.txt \
	%D%/every_macro.c \
	%D%/hello_c99.c \
	%D%/hello_cxx.cc \
	%D%/owning_classes.cc \
	%D%/statics_at_exit.cc \
	%D%/kernels_user.c \
	%D%/static_user.c

# One run for each compiler and language standard, so that none of them is long.
header_runs = \
	%D%/headers.gcc-c99 \
	%D%/headers.gcc-c11 \
	%D%/headers.g++-c++17 \
	%D%/headers.g++-c++20 \
	%D%/headers.clang-c99 \
	%D%/headers.clang-c11 \
	%D%/headers.clang++-c++17 \
	%D%/headers.clang++-c++20
generated_tests += $(header_runs)
$(header_runs): Makefile
	$(AM_V_GEN)run=$(@F) && run=$${run#headers.} && \
	  printf '#!/bin/sh\n: "$${top_srcdir:=%s}"\nexport top_srcdir\nexec sh "$$top_srcdir/tests/build/headers.sh" %s %s\n' \
	    '$(abs_top_srcdir)' "$${run%%-*}" "$${run#*-}" >$@ && chmod +x $@

check_PROGRAMS += %D%/dlopen_user
tests_build_dlopen_user_LDADD =
