# src/stream: what runs on a device (includes base, cuda, driver), in rooms, the lowest first. A room calls rooms that stand before it.
# A public header of this part: cujitinclude_HEADERS += include/cujit/name.h

noinst_LTLIBRARIES += libcujit-stream.la
libcujit_stream_la_SOURCES =
cujitinclude_HEADERS += include/cujit/stream.h include/cujit/copy.h include/cujit/stream_barrier.h include/cujit/capture.h \
	include/cujit/graph.h include/cujit/graph_exec.h
include %D%/core/local.mk
include %D%/memory/local.mk
include %D%/graph/local.mk
