# src/sim/entry: a room of the CPU device (docs/inside.md)
libcujit_simcore_la_SOURCES += \
	%D%/sim_entry.c \
	%D%/sim_entry.h \
	%D%/sim_start.c
