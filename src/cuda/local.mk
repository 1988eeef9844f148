# src/cuda: the driver ABI as data. It uses base.

noinst_LTLIBRARIES += libcujit-cuda.la
libcujit_cuda_la_SOURCES = \
	%D%/abi.h \
	%D%/abi_memory.h \
	%D%/byvalue.def \
	%D%/container.h \
	%D%/enums.h \
	%D%/errors.def \
	%D%/exports.def \
	%D%/exports_graphics.def \
	%D%/symbols.def \
	%D%/table.c \
	%D%/table.h
