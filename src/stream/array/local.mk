# src/stream/array: arrays, their copies, textures and surfaces
libcujit_stream_la_SOURCES += \
	%D%/array.c \
	%D%/copy_array.c \
	%D%/stream_array.h \
	%D%/texture.c
