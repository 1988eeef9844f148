# src/sim/exec: the execution engine of the CPU device. exec.h is its whole interface.

libcujit_simcore_la_SOURCES += \
	%D%/block.c \
	%D%/decode.c \
	%D%/decode.h \
	%D%/decode_alu.c \
	%D%/decode_async.c \
	%D%/decode_cmp.c \
	%D%/decode_cvt.c \
	%D%/decode_flow.c \
	%D%/decode_func.c \
	%D%/decode_mem.c \
	%D%/exec.h \
	%D%/fault.c \
	%D%/flow.c \
	%D%/flow.h \
	%D%/fp_soft.c \
	%D%/fp_soft.h \
	%D%/grid.c \
	%D%/lane_approx.c \
	%D%/lane_cvt.c \
	%D%/lane_float.c \
	%D%/lane_int.c \
	%D%/lane_ops.h \
	%D%/ops.def \
	%D%/ops_async.c \
	%D%/ops_async.h \
	%D%/ops_flow.c \
	%D%/ops_lane.c \
	%D%/ops_lane.h \
	%D%/ops_mem.c \
	%D%/ops_mem.h \
	%D%/ops_vec.h \
	%D%/ops_vec.inc \
	%D%/ops_vec_avx2.c \
	%D%/ops_vec_base.c \
	%D%/ops_vec_undef.inc \
	%D%/ops_warp.c \
	%D%/ops_warp.h \
	%D%/print_exec.c \
	%D%/program.c \
	%D%/seed64.c \
	%D%/seed64.def \
	%D%/seed64.h \
	%D%/sreg_exec.c \
	%D%/warp.c \
	%D%/warp.h
