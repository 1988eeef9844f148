# src/sim/kinds: a room of the CPU device (docs/inside.md)
libcujit_simcore_la_SOURCES += \
	%D%/sim_callback.c \
	%D%/sim_copy.c \
	%D%/sim_copy_batch.c \
	%D%/sim_copy_calls.c \
	%D%/sim_fill.c \
	%D%/sim_grid.c \
	%D%/sim_host_func.c \
	%D%/sim_kinds.h \
	%D%/sim_launch.c \
	%D%/sim_launch_steps.c \
	%D%/sim_mem_op.c
