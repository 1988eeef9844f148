# tools: the command cujit and the generators of shipped files
EXTRA_DIST += %D%/gencallnames.sh %D%/genenums.sh %D%/genlines.sh %D%/gennumbers.sh %D%/ltcompile.sh %D%/packages.sh

bin_PROGRAMS += %D%/cujit
tools_cujit_SOURCES = %D%/cmd.h %D%/cmd_cache.c %D%/cmd_check.c %D%/cmd_devices.c %D%/cmd_env.c %D%/cmd_file.c %D%/cmd_profile.c %D%/cmd_replay.c %D%/cmd_reproduce.c %D%/cmd_run_sim.c %D%/cujit.c %D%/json.c %D%/json.h \
	src/base/environment.c
tools_cujit_CPPFLAGS = $(AM_CPPFLAGS)
tools_cujit_LDADD = libcujit.la
tools_cujit_LDFLAGS = -pthread

# Every environment variable, from src/base/environment.def.
environment-doc: cujit
	./cujit env --markdown >environment.md.new && mv environment.md.new $(top_srcdir)/docs/environment.md
.PHONY: environment-doc

# The command in the build tree. It is not linked here, since libtool would put a file of its name where libcujit looks for the CPU device.
noinst_DATA += cujit
cujit: %D%/cujit
	$(AM_V_GEN)rm -f $@ && $(LN_S) %D%/cujit $@
CLEANFILES += cujit
