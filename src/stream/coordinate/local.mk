# src/stream/coordinate: the waiter; tasks and what they depend on; streams as units
libcujit_stream_la_SOURCES += \
	%D%/stream_coordinate.h \
	%D%/wait_deliver.c \
	%D%/wait_heap.c \
	%D%/wait_pace.c \
	%D%/wait_table.c \
	%D%/wait_watch.c \
	%D%/waiter.c \
	%D%/waiter_add.c \
	%D%/waiter_poll.c \
	%D%/coord.c \
	%D%/coord.h \
	%D%/coord_collective.c \
	%D%/coord_deadlock.c \
	%D%/coord_info.c \
	%D%/coord_kernel.c \
	%D%/coord_parallel.c \
	%D%/coord_run.c \
	%D%/coord_steps.c \
	%D%/coord_streams.c \
	%D%/coord_tasks.h \
	%D%/coord_text.c \
	%D%/coord_units.c \
	%D%/task_core.c \
	%D%/task_edges.c \
	%D%/task_ranges.c \
	%D%/task_ready.c \
	%D%/task_slots.c \
	%D%/task_states.c
