# src/driver: opening libcuda, devices, memory, images, modules, kernels, launch (includes base, ptx, cuda)
# Add a source with one line: libcujit_driver_la_SOURCES += %D%/name.c %D%/name.h; .def files belong there too.
# A public header of this part: cujitinclude_HEADERS += include/cujit/name.h

noinst_LTLIBRARIES += libcujit-driver.la
libcujit_driver_la_SOURCES =
libcujit_driver_la_SOURCES += %D%/late.c %D%/late.h
libcujit_driver_la_SOURCES += %D%/driver.h
cujitinclude_HEADERS += include/cujit/driver.h include/cujit/launch.h
