# src/sim/queue: a room of the CPU device (docs/inside.md)
libcujit_simcore_la_SOURCES += \
	%D%/sim_op.c \
	%D%/sim_queue.h \
	%D%/sim_ready.c \
	%D%/sim_schedule.c \
	%D%/sim_serial.c \
	%D%/sim_worker.c
