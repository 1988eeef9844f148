# src/driver: opening libcuda, devices, memory, images, modules, kernels, launch (includes base, ptx, cuda)
# Add a source with one line: libcujit_driver_la_SOURCES += %D%/name.c %D%/name.h; .def files belong there too.
# A public header of this part: cujitinclude_HEADERS += include/cujit/name.h

noinst_LTLIBRARIES += libcujit-driver.la
libcujit_driver_la_SOURCES =
libcujit_driver_la_SOURCES += %D%/args.c %D%/args.h %D%/cuerror.c %D%/device.c %D%/driver.h %D%/image.c %D%/image.h \
	%D%/jit.c %D%/jit.h %D%/kernel.c %D%/deferred.c %D%/deferred.h %D%/module.c %D%/open.c %D%/open.h \
	%D%/symbols.c %D%/symbols.h %D%/layer.c %D%/layer.h %D%/layer_text.c %D%/layer_text.h
cujitinclude_HEADERS += include/cujit/driver.h include/cujit/memory.h include/cujit/launch.h include/cujit/interpose.h
