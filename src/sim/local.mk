# src/sim: the CUDA driver ABI on the CPU (includes base, ptx, cuda; may use libm)
# Add a source with one line: libcujit_simcore_la_SOURCES += %D%/name.c %D%/name.h; .def files belong there too.
# A public header of this part: cujitinclude_HEADERS += include/cujit/name.h

noinst_LTLIBRARIES += libcujit-simcore.la
libcujit_simcore_la_SOURCES =
include %D%/exec/local.mk
cujitinclude_HEADERS += include/cujit/sim.h
