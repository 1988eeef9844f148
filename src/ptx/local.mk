# src/ptx: builder, instruction table, checker, printer, parser (includes base)
# Add a source with one line: libcujit_ptx_la_SOURCES += %D%/name.c %D%/name.h; .def files belong there too.
# A public header of this part: cujitinclude_HEADERS += include/cujit/name.h

noinst_LTLIBRARIES += libcujit-ptx.la
libcujit_ptx_la_SOURCES =
libcujit_ptx_la_SOURCES += %D%/isa.h %D%/types.def
cujitinclude_HEADERS += include/cujit/control.h include/cujit/operands.h include/cujit/ptx.h include/cujit/verbs.h include/cujit/lines.h
