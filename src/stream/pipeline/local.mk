# src/stream/pipeline: input that passes devices in chunks
libcujit_stream_la_SOURCES += \
	%D%/pipeline.c \
	%D%/pipeline_blame.c \
	%D%/pipeline_depth.c \
	%D%/pipeline_done.c \
	%D%/pipeline_failure.c \
	%D%/pipeline_lane.c \
	%D%/pipeline_link.c \
	%D%/pipeline_next.c \
	%D%/pipeline_work.c \
	%D%/stream_pipeline.h
