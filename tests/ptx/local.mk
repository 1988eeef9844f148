# What several tests use.
tests_libtest_a_SOURCES += %D%/ask_ptxas.c %D%/ask_ptxas.h %D%/isa_ask.c %D%/isa_ask.h %D%/isa_judge.c %D%/isa_judge.h \
	%D%/isa_read.c %D%/isa_write.c %D%/isa_write.h %D%/reader_rules.c %D%/reader_rules.h

# The reader.
text_tests += %D%/parse_words %D%/parse_wrong %D%/parse_samples %D%/parse_growing %D%/parse_nomem %D%/parse_built %D%/parse_ptxas %D%/parse_oracle %D%/parse_entries \
	%D%/parse_declarations %D%/parse_lines %D%/layout_limits

text_tests += %D%/debug_data %D%/digest_follows_text %D%/names_stay %D%/array_elements

# A module as a C program.
text_tests += %D%/reproduce_programs %D%/reproduce_failures
tests_ptx_reproduce_programs_SOURCES = %D%/reproduce_programs.c %D%/reproduce_cases.c %D%/reproduce_cases.h
tests_ptx_reproduce_failures_SOURCES = %D%/reproduce_failures.c %D%/reproduce_cases.c %D%/reproduce_cases.h

# What is printed of a text is the same machine code. check-roundtrip: every source for every target.
text_tests += %D%/same_code
EXTRA_DIST += %D%/sources/assembly.cu %D%/sources/atomics.cu %D%/sources/barriers.cu %D%/sources/bounds.cu %D%/sources/bulk.cu \
	%D%/sources/clusters.cu %D%/sources/constants.cu %D%/sources/cooperative.cu %D%/sources/copies.cu %D%/sources/doubles.cu \
	%D%/sources/floats.cu %D%/sources/functions.cl %D%/sources/groups.cu %D%/sources/halves.cu %D%/sources/integers.cu \
	%D%/sources/lambdas.cu %D%/sources/libraries.cu %D%/sources/locals.cu %D%/sources/loops.cu %D%/sources/managed.cu \
	%D%/sources/matrices.cu %D%/sources/pointers.cu %D%/sources/printfs.cu %D%/sources/recursion.cu %D%/sources/shareds.cu \
	%D%/sources/specials.cu %D%/sources/structs.cu %D%/sources/switches.cu %D%/sources/templates.cu %D%/sources/textures.cu \
	%D%/sources/vectors.cl %D%/sources/vectors.cu %D%/sources/virtuals.cu %D%/sources/volatiles.cu

check-roundtrip: %D%/same_code$(EXEEXT)
	@n=$$(nproc); k=0; rm -f check-roundtrip.*.log; while [ $$k -lt $$n ]; do \
	    top_srcdir='$(abs_top_srcdir)' CUJIT_TEST_REQUIRE=ptxas %D%/same_code$(EXEEXT) all $$k $$n >check-roundtrip.$$k.log 2>&1 & k=$$((k + 1)); done; wait; \
	cat check-roundtrip.*.log >check-roundtrip.log; grep -c '^ok' check-roundtrip.log; ! grep '^not ok' check-roundtrip.log
.PHONY: check-roundtrip
CLEANFILES += check-roundtrip.log check-roundtrip.*.log
EXTRA_DIST += %D%/samples/saxpy.ptx %D%/samples/reduce.ptx %D%/samples/histogram.ptx %D%/samples/calls.ptx %D%/samples/half.ptx %D%/samples/switch.ptx \
	%D%/samples/interpret.ptx %D%/samples/constant.ptx %D%/samples/print.ptx %D%/samples/loops.ptx %D%/samples/math.ptx %D%/samples/lines.ptx \
	%D%/samples/debug.ptx %D%/samples/syntax.ptx %D%/samples/sections.ptx %D%/samples/old.ptx %D%/samples/declared.ptx %D%/declarations.def

# The builder and the printer.
text_tests += %D%/names_and_comments
text_tests += %D%/build_typed_verbs %D%/build_conversions %D%/build_messages %D%/build_least_needs %D%/build_wrong_handles %D%/build_nested_blocks \
	%D%/build_calls %D%/build_numbers %D%/build_without_memory %D%/build_fuzz %D%/build_copies %D%/small_modules %D%/print_exact %D%/print_room %D%/print_variables %D%/print_source_lines %D%/print_line_map

# The instruction table. isa_ptxas asks ptxas about a sample; make check-table about every form (two minutes).
text_tests += %D%/isa_forms %D%/isa_spelling %D%/isa_operands %D%/isa_lattice %D%/isa_shared_forms %D%/isa_oracle %D%/isa_ptxas
check_PROGRAMS += %D%/isa_record
sh_tests += %D%/isa_current.sh %D%/isagen_errors.sh
EXTRA_DIST += tests/oracle/isa.txt

check-table: %D%/isa_ptxas$(EXEEXT)
	@CUJIT_TEST_REQUIRE=ptxas CUJIT_TABLE=$${CUJIT_TABLE:-all} %D%/isa_ptxas$(EXEEXT) >check-table.log; tail -3 check-table.log; grep -q '^ok 1' check-table.log
record-verdicts: %D%/isa_record$(EXEEXT)
	%D%/isa_record$(EXEEXT) >isa.txt.new && mv isa.txt.new $(top_srcdir)/tests/oracle/isa.txt
.PHONY: check-table record-verdicts
CLEANFILES += check-table.log
sim_tests += %D%/build_executed %D%/passed_types
