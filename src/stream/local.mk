# src/stream: streams, events, graphs, copies, coordination (includes base, cuda, driver)
# Add a source with one line: libcujit_stream_la_SOURCES += %D%/name.c %D%/name.h; .def files belong there too.
# A public header of this part: cujitinclude_HEADERS += include/cujit/name.h

noinst_LTLIBRARIES += libcujit-stream.la
libcujit_stream_la_SOURCES =
cujitinclude_HEADERS += include/cujit/stream.h include/cujit/copy.h include/cujit/stream_barrier.h include/cujit/capture.h include/cujit/graph.h \
	include/cujit/graph_exec.h
libcujit_stream_la_SOURCES += %D%/capture.c %D%/copy.c %D%/dispatch.c %D%/event.c %D%/follow.c %D%/keep.c %D%/allocation.c %D%/order.c %D%/refused.c %D%/staging.c \
	%D%/stream.c %D%/streams.h
libcujit_stream_la_SOURCES += %D%/await.c %D%/batch.c %D%/box.c %D%/box_shape.c %D%/count.c %D%/done.c %D%/hub.c %D%/managed.c %D%/peer.c %D%/shared.c %D%/value.c
libcujit_stream_la_SOURCES += %D%/exec_cache.c %D%/exec_change.c %D%/exec_fill.c %D%/exec_launch.c
libcujit_stream_la_SOURCES += %D%/allocation.h %D%/graph_memory.c
libcujit_stream_la_SOURCES += %D%/graph_box.c %D%/graph_dot.c %D%/graph_life.c %D%/graph_node.c %D%/graph_parts.c %D%/graph_shape.c %D%/graph_work.c %D%/graphs.h
