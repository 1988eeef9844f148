# src/sim/graph: a room of the CPU device (docs/inside.md)
libcujit_simcore_la_SOURCES += \
	%D%/sim_capture.c \
	%D%/sim_child.c \
	%D%/sim_cond.c \
	%D%/sim_dot.c \
	%D%/sim_edge.c \
	%D%/sim_event_node.c \
	%D%/sim_graph.c \
	%D%/sim_graph.h \
	%D%/sim_graph_exec.c \
	%D%/sim_graph_memory.c \
	%D%/sim_graph_room.c \
	%D%/sim_kernel_node.c \
	%D%/sim_node.c \
	%D%/sim_object.c \
	%D%/sim_older_graph.c \
	%D%/sim_update.c
