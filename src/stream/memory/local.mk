# src/stream/memory: allocations, copies, fills, staging, managed, IPC and peer memory, memory operations
libcujit_stream_la_SOURCES += %D%/stream_memory.h \
	%D%/copy.c %D%/copy_3d.c %D%/copy_batch.c %D%/copy_shape.c %D%/managed.c %D%/mem_alloc.c %D%/mem_ops.c %D%/peer.c %D%/staging.c
