# src/sim: the CUDA driver ABI on the CPU, in rooms, the lowest first. It uses base, ptx, cuda and libm.
# A source belongs to the local.mk of its room.

noinst_LTLIBRARIES += libcujit-simcore.la
libcujit_simcore_la_SOURCES =
include %D%/exec/local.mk
include %D%/core/local.mk
include %D%/module/local.mk
include %D%/queue/local.mk
include %D%/stream/local.mk
include %D%/memory/local.mk
include %D%/kinds/local.mk
include %D%/graph/local.mk
include %D%/diagnose/local.mk
include %D%/entry/local.mk
cujitinclude_HEADERS += include/cujit/sim.h
