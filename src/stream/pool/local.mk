# src/stream/pool: pools of streams
libcujit_stream_la_SOURCES += \
	%D%/pool_choose.c \
	%D%/pool_lease.c \
	%D%/pool_optimize.c \
	%D%/pool_sample.c \
	%D%/pool_streams.c \
	%D%/pool_wait.c \
	%D%/stream_pool.c \
	%D%/stream_pool.h
