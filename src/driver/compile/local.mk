# src/driver/compile: a room of the library (docs/inside.md)
libcujit_driver_la_SOURCES += \
	%D%/compile.h \
	%D%/compile_requests.c \
	%D%/compiler.c \
	%D%/future.c \
	%D%/kernel_stages.c \
	%D%/link_run.c \
	%D%/linker.c
