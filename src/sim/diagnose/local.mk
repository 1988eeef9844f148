# src/sim/diagnose: a room of the CPU device (docs/inside.md)
libcujit_simcore_la_SOURCES += \
	%D%/sim_deadlock.c \
	%D%/sim_diagnose.h \
	%D%/sim_list.c \
	%D%/sim_watch.c
