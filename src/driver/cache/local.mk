# src/driver/cache: compiled images on disk. It uses base and ptx, and knows no driver.
disk_cache_sources = \
	%D%/build_identity.c \
	%D%/disk_cache.h \
	%D%/disk_count.c \
	%D%/disk_entry.c \
	%D%/disk_file.c \
	%D%/disk_folder.c \
	%D%/disk_names.c \
	%D%/disk_ready.c \
	%D%/disk_recent.c \
	%D%/disk_sweep.c
libcujit_driver_la_SOURCES += $(disk_cache_sources) %D%/memo.c %D%/memo.h
