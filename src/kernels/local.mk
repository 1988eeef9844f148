# src/kernels: libcujit-kernels, kernels over libcujit. It uses the public headers and exported functions only.

EXTRA_DIST += %D%/libcujit-kernels.map %D%/cujit-kernels.pc.in
cujitinclude_HEADERS += include/cujit/kernels.h include/cujit/kernels_attention.h include/cujit/kernels_matrix.h
cujitinclude_HEADERS += include/cujit/kernels.hpp
pkgconfig_DATA += cujit-kernels.pc

noinst_LTLIBRARIES += libcujit-kernelcode.la
libcujit_kernelcode_la_SOURCES = \
	%D%/argmax.c \
	%D%/attention.c \
	%D%/attention.h \
	%D%/attention_mma.c \
	%D%/attention_rows.c \
	%D%/attention_scalar.c \
	%D%/attention_wgmma.c \
	%D%/code.c \
	%D%/elementwise.c \
	%D%/gemm.c \
	%D%/gemm_core.h \
	%D%/gemm_end.c \
	%D%/gemm_fma.c \
	%D%/gemm_launches.c \
	%D%/gemm_maps.c \
	%D%/gemm_mma.c \
	%D%/gemm_scalar.c \
	%D%/gemm_scalar_large.c \
	%D%/gemm_variants.c \
	%D%/gemm_wgmma.c %D%/gemm_split.c \
	%D%/gemv.c \
	%D%/gemv.h \
	%D%/gemv_bulk.c \
	%D%/gemv_rows.c \
	%D%/gemv_steps.c \
	%D%/kernels_core.h \
	%D%/norm_rows.c \
	%D%/norms.c \
	%D%/norms.h \
	%D%/reduce_rows.c \
	%D%/rope.c \
	%D%/row_joins.c \
	%D%/row_values.c \
	%D%/row_values.h \
	%D%/scan_core.h \
	%D%/scan_rows.c \
	%D%/scan_stream.c \
	%D%/scan_tiles.c \
	%D%/softmax_rows.c \
	%D%/values.c \
	%D%/vectors.c \
	%D%/vectors.h \
	%D%/workspace.c

lib_LTLIBRARIES += libcujit-kernels.la
libcujit_kernels_la_SOURCES =
libcujit_kernels_la_LIBADD = libcujit-kernelcode.la libcujit.la
libcujit_kernels_la_LIBTOOLFLAGS =
libcujit_kernels_la_LDFLAGS = -pthread -no-undefined -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/%D%/libcujit-kernels.map -Wl,--as-needed -Wl,-z,nodelete \
	-Wl,-Bsymbolic-functions -Wl,-z,now
EXTRA_libcujit_kernels_la_DEPENDENCIES = %D%/libcujit-kernels.map

# As a user links it.
if WITH_SHARED
libcujit_kernels = .libs/libcujit-kernels.so $(libcujit)
else
libcujit_kernels = .libs/libcujit-kernels.a $(libcujit)
endif
.libs/libcujit-kernels.so: libcujit-kernels.la ;
.libs/libcujit-kernels.a: libcujit-kernels.la ;
.libs/libcujit-kernelcode.a: libcujit-kernelcode.la ;
