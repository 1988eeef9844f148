# src/stream: what runs on a device, in rooms, the lowest first; a room calls those before it. It uses base, cuda and driver.

noinst_LTLIBRARIES += libcujit-stream.la
libcujit_stream_la_SOURCES =
cujitinclude_HEADERS += include/cujit/capture.h include/cujit/copy.h include/cujit/graph.h include/cujit/graph_exec.h \
	include/cujit/extend.h include/cujit/pool.h include/cujit/stream.h include/cujit/stream_barrier.h include/cujit/waiter.h
cujitinclude_HEADERS += include/cujit/coordinate.h
cujitinclude_HEADERS += include/cujit/profile.h
libcujit_stream_la_SOURCES += %D%/stream_rooms.c
cujitinclude_HEADERS += include/cujit/pipeline.h
cujitinclude_HEADERS += include/cujit/texture.h include/cujit/memory_pool.h include/cujit/virtual_memory.h
cujitinclude_HEADERS += include/cujit/interop.h
include %D%/core/local.mk
include %D%/memory/local.mk
include %D%/array/local.mk
include %D%/graph/local.mk
include %D%/pool/local.mk
include %D%/coordinate/local.mk
include %D%/profile/local.mk
include %D%/pipeline/local.mk
include %D%/interop/local.mk
