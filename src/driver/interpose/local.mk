# Drivers over drivers: traces, faults, recordings and what replays them.
libcujit_driver_la_SOURCES += \
	%D%/call_names.c \
	%D%/call_names.def \
	%D%/driver_interpose.h \
	%D%/fault_layer.c \
	%D%/interpose_env.c \
	%D%/interposer.c \
	%D%/interposer_text.c \
	%D%/launch_text.c \
	%D%/process_file.c \
	%D%/record_args.c \
	%D%/record_build.c \
	%D%/record_copies.c \
	%D%/record_file.c \
	%D%/record_file.h \
	%D%/record_format.h \
	%D%/record_graphs.c \
	%D%/record_images.c \
	%D%/record_layer.c \
	%D%/record_pending.c \
	%D%/record_structs.c \
	%D%/replay.c \
	%D%/replay_parts.h \
	%D%/replay_args.c \
	%D%/replay_check.c \
	%D%/replay_file.c \
	%D%/replay_maps.c \
	%D%/replay_text.c \
	%D%/struct_text.c \
	%D%/trace_file.c \
	%D%/trace_layer.c \
	%D%/trace_owner.c
