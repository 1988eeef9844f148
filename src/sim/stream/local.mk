# src/sim/stream: a room of the CPU device (docs/inside.md)
libcujit_simcore_la_SOURCES += \
	%D%/sim_capture_rule.c \
	%D%/sim_context_event.c \
	%D%/sim_event.c \
	%D%/sim_ipc_event.c \
	%D%/sim_order.c \
	%D%/sim_stream.c \
	%D%/sim_stream.h \
	%D%/sim_stream_attribute.c \
	%D%/sim_stream_room.c
