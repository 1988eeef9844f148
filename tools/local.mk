# tools: the command cujit (bin_PROGRAMS += cujit, linked with libcujit.la) and the generators the tree is made with
EXTRA_DIST += %D%/genlines.sh

bin_PROGRAMS += cujit
cujit_SOURCES = %D%/cujit.c %D%/cmd.h %D%/cmd_check.c %D%/cmd_devices.c %D%/cmd_run_sim.c %D%/json.c %D%/json.h
cujit_CPPFLAGS = -I$(top_srcdir)/include -D_GNU_SOURCE -DCUJIT_PKGLIBDIR='"$(pkglibdir)"'
cujit_LDADD = libcujit.la
cujit_LDFLAGS = -pthread
