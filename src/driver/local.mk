# src/driver: opening libcuda, devices, memory, images, modules, kernels, launch. It uses base, ptx and cuda.

noinst_LTLIBRARIES += libcujit-driver.la
libcujit_driver_la_SOURCES = \
	%D%/args.c \
	%D%/args.h \
	%D%/cuerror.c \
	%D%/deferred.c \
	%D%/deferred.h \
	%D%/device.c \
	%D%/device_info.c \
	%D%/disk_cache.c \
	%D%/device_reset.c \
	%D%/driver.h \
	%D%/enum_names.c \
	%D%/enum_names.def \
	%D%/kernel_cache.c \
	%D%/kernel_fault.c \
	%D%/image.c \
	%D%/image.h \
	%D%/image_cache.c \
	%D%/image_cache.h \
	%D%/image_size.c \
	%D%/jit.c \
	%D%/jit.h \
	%D%/jit_log.c \
	%D%/jit_target.c \
	%D%/kernel.c \
	%D%/kernel_attributes.c \
	%D%/kernel_info.c \
	%D%/kernel_named.c \
	%D%/launch_attributes.c \
	%D%/launch_attributes.def \
	%D%/launch_reasons.c \
	%D%/occupancy.c \
	%D%/load_turns.c \
	%D%/module.c \
	%D%/module_var_typed.c \
	%D%/open.c \
	%D%/open.h \
	%D%/pinned.c \
	%D%/plain_values.c \
	%D%/rooms/driver_rooms.c \
	%D%/scope.c \
	%D%/scope.h \
	%D%/static_program.c \
	%D%/symbols.c \
	%D%/symbols.h \
	%D%/tensor_map.c
cujitinclude_HEADERS += include/cujit/compiler.h include/cujit/linker.h
cujitinclude_HEADERS += include/cujit/tensor_map.h
cujitinclude_HEADERS += include/cujit/driver.h include/cujit/interpose.h include/cujit/kernel_cache.h include/cujit/launch.h include/cujit/memory.h include/cujit/replay.h
include %D%/cache/local.mk
include %D%/compile/local.mk
include %D%/interpose/local.mk
