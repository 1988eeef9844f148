# src/cuda: the driver ABI as data (includes base)
# Add a source with one line: libcujit_cuda_la_SOURCES += %D%/name.c %D%/name.h; .def files belong there too.
# A public header of this part: cujitinclude_HEADERS += include/cujit/name.h

noinst_LTLIBRARIES += libcujit-cuda.la
libcujit_cuda_la_SOURCES =
libcujit_cuda_la_SOURCES += %D%/abi.h %D%/byvalue.def %D%/enums.h %D%/errors.def %D%/symbols.def %D%/table.c %D%/table.h
