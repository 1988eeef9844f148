# src/stream/profile: what streams did, measured by timing events: records, totals, reports, pictures
libcujit_stream_la_SOURCES += \
	%D%/profile.c \
	%D%/profile_entries.c \
	%D%/profile_env.c \
	%D%/profile_harvest.c \
	%D%/profile_launch.c \
	%D%/profile_nvtx.c \
	%D%/profile_path.c \
	%D%/profile_ranges.c \
	%D%/profile_recorder.c \
	%D%/profile_report.c \
	%D%/profile_sums.c \
	%D%/profile_svg.c \
	%D%/profile_text.c \
	%D%/profile_trace.c \
	%D%/stream_profile.h
