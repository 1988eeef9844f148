# src/stream/interop: tensors of other libraries, streams by number
libcujit_stream_la_SOURCES += \
	%D%/interop_array.c \
	%D%/interop_dlpack.c \
	%D%/interop_stream.c \
	%D%/interop_tensor.c \
	%D%/stream_interop.h
