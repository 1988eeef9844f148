# tools: the command cujit and the generators of shipped files
EXTRA_DIST += %D%/genlines.sh %D%/gennumbers.sh

bin_PROGRAMS += %D%/cujit
tools_cujit_SOURCES = %D%/cmd.h %D%/cmd_check.c %D%/cmd_devices.c %D%/cmd_run_sim.c %D%/cujit.c %D%/json.c %D%/json.h
tools_cujit_LDADD = libcujit.la
tools_cujit_LDFLAGS = -pthread

# The command in the build tree. It is not linked here, since libtool would put a file of its name where libcujit looks for the CPU device.
noinst_DATA += cujit
cujit: %D%/cujit
	$(AM_V_GEN)rm -f $@ && $(LN_S) %D%/cujit $@
CLEANFILES += cujit
