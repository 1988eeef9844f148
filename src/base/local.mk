# src/base: objects and errors, allocator hook, arena, growing text, map, log, environment. It uses nothing but libc.

noinst_LTLIBRARIES += libcujit-base.la
libcujit_base_la_SOURCES = \
	%D%/alloc.c \
	%D%/cancel.h \
	%D%/cells.c \
	%D%/cells.h \
	%D%/clock.c \
	%D%/clock.h \
	%D%/environment.c \
	%D%/environment.def \
	%D%/environment.h \
	%D%/error.c \
	%D%/file_signals.c \
	%D%/file_signals.h \
	%D%/first.c \
	%D%/first.h \
	%D%/handover.h \
	%D%/hash128.c \
	%D%/hash128.h \
	%D%/lock.c \
	%D%/lock.h \
	%D%/lock_order.def \
	%D%/log.c \
	%D%/log.h \
	%D%/map.c \
	%D%/mem.h \
	%D%/obj.c \
	%D%/obj.h \
	%D%/opts.c \
	%D%/opts.h \
	%D%/process.c \
	%D%/process.h \
	%D%/record.c \
	%D%/record.h \
	%D%/status.def \
	%D%/tags.def \
	%D%/text.c \
	%D%/thread_cache.c \
	%D%/thread_cache.h
cujitinclude_HEADERS += include/cujit/base.h
