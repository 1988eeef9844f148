# src/sim/memory: a room of the CPU device (docs/inside.md)
libcujit_simcore_la_SOURCES += \
	%D%/sim_array.c \
	%D%/sim_ipc_memory.c \
	%D%/sim_location.c \
	%D%/sim_memory.c \
	%D%/sim_memory.h \
	%D%/sim_pinned.c \
	%D%/sim_pool.c \
	%D%/sim_pool_share.c \
	%D%/sim_suballoc.c \
	%D%/sim_tensor_map.c \
	%D%/sim_texture.c \
	%D%/sim_virtual.c
