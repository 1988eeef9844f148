# src/stream/graph: captures, graphs, nodes, executable graphs, update, cache
libcujit_stream_la_SOURCES += \
	%D%/capture.c \
	%D%/graph.c \
	%D%/graph_clone.c \
	%D%/graph_condition.c \
	%D%/graph_dot.c \
	%D%/graph_exec.c \
	%D%/graph_exec_cache.c \
	%D%/graph_exec_change.c \
	%D%/graph_exec_fill.c \
	%D%/graph_info.c \
	%D%/graph_memory.c \
	%D%/graph_node.c \
	%D%/graph_shape.c \
	%D%/node_array.c \
	%D%/node_copy.c \
	%D%/node_event.c \
	%D%/node_fill.c \
	%D%/node_kernel.c \
	%D%/node_kinds.def \
	%D%/node_list.c \
	%D%/node_mem_ops.c \
	%D%/node_memory.c \
	%D%/stream_graph.h
