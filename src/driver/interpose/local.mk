# Drivers over drivers: traces, faults, recordings and what replays them.
libcujit_driver_la_SOURCES += \
	%D%/driver_interpose.h \
	%D%/fault_layer.c \
	%D%/interpose_env.c \
	%D%/interposer.c \
	%D%/interposer_text.c \
	%D%/launch_text.c \
	%D%/process_file.c \
	%D%/struct_text.c \
	%D%/trace_file.c \
	%D%/trace_layer.c
