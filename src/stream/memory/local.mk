# src/stream/memory: allocations, copies, fills, staging, managed, IPC and peer memory, memory operations
libcujit_stream_la_SOURCES += \
	%D%/alloc_options.c \
	%D%/alloc_stats.c \
	%D%/alloc_table.c \
	%D%/block_alloc.c \
	%D%/block_capture.c \
	%D%/block_chunk.c \
	%D%/block_heap.c \
	%D%/block_lists.c \
	%D%/copy.c \
	%D%/copy_3d.c \
	%D%/copy_batch.c \
	%D%/copy_shape.c \
	%D%/copy_span.c \
	%D%/fill.c \
	%D%/ipc_mem.c \
	%D%/managed.c \
	%D%/mem_alloc.c \
	%D%/mem_free.c \
	%D%/mem_info.c \
	%D%/mem_known.c \
	%D%/mem_ops.c \
	%D%/mem_pool.c \
	%D%/mem_state.c \
	%D%/mem_use.c \
	%D%/module_vars.c \
	%D%/peer.c \
	%D%/staging.c \
	%D%/stream_memory.h \
	%D%/vmem.c \
	%D%/vmem.h \
	%D%/vmem_share.c
