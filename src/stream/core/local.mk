# src/stream/core: streams, events, order, waits, callbacks, host functions, launches; what a capture records
libcujit_stream_la_SOURCES += \
	%D%/callback.c \
	%D%/counts.c \
	%D%/default_thread.c \
	%D%/device_pools.c \
	%D%/event.c \
	%D%/event_pool.c \
	%D%/event_pool.h \
	%D%/event_pool_cells.c \
	%D%/event_point.c \
	%D%/extend.c \
	%D%/stream_point.c \
	%D%/host_func.c \
	%D%/ipc_event.c \
	%D%/order.c \
	%D%/recording.c \
	%D%/refs.c \
	%D%/stream.c \
	%D%/stream_barrier.c \
	%D%/stream_core.h \
	%D%/stream_error.c \
	%D%/stream_fault.c \
	%D%/stream_launch.c \
	%D%/stream_prepared.c \
	%D%/wait.c \
	%D%/work_hooks.c \
	%D%/work_hooks.h
