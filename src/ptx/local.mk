# src/ptx: builder, instruction table, checker, printer, parser. It uses base.

noinst_LTLIBRARIES += libcujit-ptx.la
libcujit_ptx_la_SOURCES = \
	%D%/isa.h \
	%D%/types.def
cujitinclude_HEADERS += include/cujit/async.h include/cujit/blocks.h include/cujit/control.h include/cujit/operands.h include/cujit/ptx.h include/cujit/verbs.h include/cujit/math.h include/cujit/lines.h \
	include/cujit/numbers.h include/cujit/tensor_core.h include/cujit/verbs_numbers.h

# The instruction table: look-ups, the operand checker, and what tools/isagen made of isa/*.def (shipped; `make isa` renews it).
libcujit_ptx_la_SOURCES += \
	%D%/demands.c \
	%D%/instruction_mix.c \
	%D%/isa.c \
	%D%/isa_data.c \
	%D%/isa_explain.c \
	%D%/isa_find.c \
	%D%/isa_ids.h \
	%D%/isa_match.c \
	%D%/isa_match.h \
	%D%/isa_row.h \
	%D%/isa_shared.c \
	%D%/isa_sreg.h \
	%D%/isa_table.h \
	%D%/isa_targets.c \
	%D%/isa_types.c
isa_defs = %D%/isa/targets.def %D%/isa/sets.def %D%/isa/sregs.def %D%/isa/arith_int.def %D%/isa/arith_float.def %D%/isa/compare.def \
	%D%/isa/logic.def %D%/isa/move.def %D%/isa/convert.def %D%/isa/control.def %D%/isa/sync.def %D%/isa/atomic.def %D%/isa/async.def %D%/isa/texture.def \
	%D%/isa/matrix.def
EXTRA_DIST += $(isa_defs)

# The table's compiler runs where rows are changed and in tests, never in a plain build: its output is shipped.
check_PROGRAMS += isagen
isagen_SOURCES = tools/isagen.c tools/isagen_read.c tools/isagen_sets.c tools/isagen_rows.c tools/isagen_opnd.c tools/isagen_emit.c tools/isagen.h
isagen_LDADD =

# Into the source tree; the files are replaced only when every row is sound.
isa: isagen$(EXEEXT)
	./isagen$(EXEEXT) $(top_srcdir)/%D%/isa_data.c $(top_srcdir)/%D%/isa_ids.h `for i in $(isa_defs); do echo $(top_srcdir)/$$i; done`
.PHONY: isa

# The builder and the printer.
libcujit_ptx_la_SOURCES += \
	%D%/build.h \
	%D%/build_call.c \
	%D%/build_clone.c \
	%D%/build_control.c \
	%D%/build_emit.c \
	%D%/build_fn.c \
	%D%/passed.c \
	%D%/build_inline.c \
	%D%/build_form.c \
	%D%/build_literals.c \
	%D%/build_module.c \
	%D%/build_names.c \
	%D%/build_needs.c \
	%D%/build_operands.c \
	%D%/build_tables.c \
	%D%/build_vars.c \
	%D%/digest.c \
	%D%/entries.c \
	%D%/entries.h \
	%D%/fold.c \
	%D%/fold.h \
	%D%/fold_float.c \
	%D%/layout.c \
	%D%/layout.h \
	%D%/line_map.c \
	%D%/mufu.c \
	%D%/mufu.def \
	%D%/mufu.h \
	%D%/print.h \
	%D%/print_body.c \
	%D%/print_head.c \
	%D%/print_module.c \
	%D%/ptx.h \
	%D%/shared_use.c \
	%D%/verb_table.c \
	%D%/verb_table.h \
	%D%/verb_typing.c \
	%D%/verbs.def \
	%D%/verbs_math.c \
	%D%/verbs_memory.c \
	%D%/verbs_threads.c

include %D%/math/local.mk

# The reader.
cujitinclude_HEADERS += include/cujit/parse.h
libcujit_ptx_la_SOURCES += \
	%D%/directives.def \
	%D%/lex.c \
	%D%/lex.h \
	%D%/parse.c \
	%D%/parse_alias.c \
	%D%/parse_body.c \
	%D%/parse_bounds.c \
	%D%/parse_const.c \
	%D%/parse_debug.c \
	%D%/parse_decl.c \
	%D%/parse_fn.c \
	%D%/parse_heads.c \
	%D%/parse_init.c \
	%D%/parse_ins.c %D%/parse_element.c \
	%D%/parse_line.c \
	%D%/parse_opaque.c \
	%D%/parse_names.c \
	%D%/parse_scope.c \
	%D%/parse_target.c \
	%D%/parser.h
include %D%/reproduce/local.mk

include %D%/blocks/local.mk
