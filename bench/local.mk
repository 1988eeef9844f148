# bench: programs that print `name value unit` lines. Add one to bench_programs; `make bench` builds and runs them all.

bench_programs =
bench_programs += %D%/emit
bench_programs += %D%/launch
bench_launch_LDADD = libcujit.la
EXTRA_PROGRAMS = $(bench_programs)
