# src/sim: the CUDA driver ABI on the CPU (includes base, ptx, cuda; may use libm)
# Add a source with one line: libcujit_simcore_la_SOURCES += %D%/name.c %D%/name.h; .def files belong there too.
# A public header of this part: cujitinclude_HEADERS += include/cujit/name.h

noinst_LTLIBRARIES += libcujit-simcore.la
libcujit_simcore_la_SOURCES =
include %D%/exec/local.mk
cujitinclude_HEADERS += include/cujit/sim.h
libcujit_simcore_la_SOURCES += %D%/sim_core.h %D%/sim_capture.h %D%/sim_device.h %D%/sim_graph_exec.h %D%/sim_graph.h %D%/sim_lacks.h %D%/sim_memory.h
libcujit_simcore_la_SOURCES += %D%/sim_module.h %D%/sim_queue.h %D%/sim_stream.h %D%/sim_address.c %D%/sim_attribute.c %D%/sim_capture.c %D%/sim_context.c
libcujit_simcore_la_SOURCES += %D%/sim_copy.c %D%/sim_device.c %D%/sim_entry.c %D%/sim_event.c %D%/sim_graph_exec.c %D%/sim_function.c %D%/sim_graph.c
libcujit_simcore_la_SOURCES += %D%/sim_handle.c %D%/sim_host_func.c %D%/sim_image.c %D%/sim_launch.c %D%/sim_link.c %D%/sim_memory.c %D%/sim_module.c
libcujit_simcore_la_SOURCES += %D%/sim_node.c %D%/sim_pinned.c %D%/sim_pool.c %D%/sim_queue.c %D%/sim_state.c %D%/sim_stream.c %D%/sim_mem_op.c
libcujit_simcore_la_SOURCES += %D%/sim_worker.c %D%/sim_schedule.c %D%/sim_deadlock.c %D%/sim_watch.c %D%/sim_update.c %D%/sim_cond.c %D%/sim_graph_memory.c %D%/sim_object.c
libcujit_simcore_la_SOURCES += %D%/sim_ipc.h %D%/sim_ipc.c %D%/sim_ipc_event.c %D%/sim_ipc_memory.c
