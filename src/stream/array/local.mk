# src/stream/array: arrays, their copies, textures and surfaces
libcujit_stream_la_SOURCES += \
	%D%/array.c \
	%D%/array_copy_shape.c \
	%D%/copy_array.c \
	%D%/stream_array.h \
	%D%/texture.c \
	%D%/texture_view.c
