# src/base: objects and errors, allocator hook, arena, growing text, map, log (includes nothing but libc)
# Add a source with one line: libcujit_base_la_SOURCES += %D%/name.c %D%/name.h; .def files belong there too.
# A public header of this part: cujitinclude_HEADERS += include/cujit/name.h

noinst_LTLIBRARIES += libcujit-base.la
libcujit_base_la_SOURCES =
libcujit_base_la_SOURCES += %D%/alloc.c %D%/clock.c %D%/clock.h %D%/error.c %D%/handover.h %D%/log.c %D%/log.h %D%/map.c %D%/mem.h %D%/obj.c %D%/obj.h %D%/opts.c %D%/opts.h %D%/process.c %D%/process.h %D%/record.c %D%/record.h
libcujit_base_la_SOURCES += %D%/status.def %D%/tags.def %D%/text.c
cujitinclude_HEADERS += include/cujit/base.h
