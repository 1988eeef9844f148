# src/driver/compile: a room of the library (docs/inside.md)
libcujit_driver_la_SOURCES += \
	%D%/compile.h \
	%D%/link_run.c \
	%D%/linker.c
