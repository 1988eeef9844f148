# src/ptx/blocks: building blocks of kernels. It uses the builder.

libcujit_ptx_la_SOURCES += \
	%D%/block_barriers.c \
	%D%/block_values.c \
	%D%/blocks.h \
	%D%/copies.c \
	%D%/mbarriers.c \
	%D%/mma.c \
	%D%/mma_types.h \
	%D%/reduce_block.c \
	%D%/reduce_warp.c \
	%D%/spellings.def \
	%D%/store_tile.c \
	%D%/wgmma.c
