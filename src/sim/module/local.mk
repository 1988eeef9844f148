# src/sim/module: a room of the CPU device (docs/inside.md)
libcujit_simcore_la_SOURCES += \
	%D%/sim_archive.c \
	%D%/sim_fatbin.c \
	%D%/sim_function.c \
	%D%/sim_image.c \
	%D%/sim_library.c \
	%D%/sim_link.c \
	%D%/sim_lz4.c \
	%D%/sim_members.c \
	%D%/sim_module.c \
	%D%/sim_module.h \
	%D%/sim_unpack.h \
	%D%/sim_zstd.c
