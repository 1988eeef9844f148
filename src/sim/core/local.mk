# src/sim/core: a room of the CPU device (docs/inside.md)
libcujit_simcore_la_SOURCES += \
	%D%/sim_address.c \
	%D%/sim_address.h \
	%D%/sim_attribute.c \
	%D%/sim_context.c \
	%D%/sim_context_settings.c \
	%D%/sim_core.h \
	%D%/sim_device.c \
	%D%/sim_device_older.c \
	%D%/sim_extent.c \
	%D%/sim_fault.c \
	%D%/sim_handle.c \
	%D%/sim_ipc_file.c \
	%D%/sim_ipc_part.c \
	%D%/sim_parts.c \
	%D%/sim_process.c \
	%D%/sim_reserve.c \
	%D%/sim_reach.c \
	%D%/sim_rooms.c \
	%D%/sim_settings.c \
	%D%/sim_work.c
