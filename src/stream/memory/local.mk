# src/stream/memory: allocations, copies, fills, staging, managed, IPC and peer memory, memory operations
libcujit_stream_la_SOURCES += \
	%D%/alloc_table.c \
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
	%D%/mem_ops.c \
	%D%/mem_use.c \
	%D%/peer.c \
	%D%/staging.c \
	%D%/stream_memory.h
