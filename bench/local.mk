# bench: programs that print `name value unit` lines. Add one to bench_programs; `make bench` builds and runs them all.

bench_programs =
bench_programs += %D%/emit
EXTRA_PROGRAMS = $(bench_programs)
