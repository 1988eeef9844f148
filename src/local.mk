# The libraries that are installed: libcujit (shared and static), the CPU device (a module in pkglibdir; static in libdir)
# and the shim by which other people's driver-API programs find the CPU device.

EXTRA_DIST += %D%/libcujit.map
cujitinclude_HEADERS += include/cujit/auto.h include/cujit/cujit.h include/cujit/cujit.hpp

# -- For those who build with it: pkg-config and CMake -----------------------------------------------------------------

EXTRA_DIST += %D%/cujit.pc.in %D%/cujit-sim.pc.in %D%/cujit-config.cmake.in %D%/cujit-config-version.cmake.in
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = cujit.pc
if WITH_STATIC
pkgconfig_DATA += cujit-sim.pc
endif
cmakedir = $(libdir)/cmake/cujit
cmake_DATA = cujit-config.cmake cujit-config-version.cmake
$(cmake_DATA): %.cmake: %D%/%.cmake.in Makefile
	$(AM_V_GEN)$(SED) -e 's,@libdir[@],$(libdir),' -e 's,@includedir[@],$(includedir),' \
	  -e 's,@PACKAGE_VERSION[@],$(PACKAGE_VERSION),' $(top_srcdir)/%D%/$@.in >$@
CLEANFILES += $(cmake_DATA)

# -- The library ---------------------------------------------------------------------------------------------------------

lib_LTLIBRARIES += libcujit.la
libcujit_la_SOURCES =
libcujit_la_LIBADD = libcujit-stream.la libcujit-driver.la libcujit-cuda.la libcujit-ptx.la libcujit-base.la
libcujit_la_LIBTOOLFLAGS =
libcujit_la_LDFLAGS = -pthread -no-undefined -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/%D%/libcujit.map -Wl,--as-needed -Wl,-z,nodelete \
	-Wl,-Bsymbolic-functions -Wl,-z,now
EXTRA_libcujit_la_DEPENDENCIES = %D%/libcujit.map

# -- The CPU device --------------------------------------------------------------------------------------------------

sim_parts = libcujit-simcore.la libcujit-cuda.la libcujit-ptx.la libcujit-base.la
sim_so = $(abs_top_builddir)/.libs/cujit/libcujit-sim.so

if WITH_SHARED
pkglib_LTLIBRARIES += %D%/sim/libcujit-sim.la
src_sim_libcujit_sim_la_SOURCES =
src_sim_libcujit_sim_la_LIBADD = $(sim_parts) -lm
src_sim_libcujit_sim_la_LDFLAGS = -pthread -no-undefined -module -avoid-version -shared \
	-Wl,--version-script=%D%/sim/libcujit-sim.map -Wl,-Bsymbolic -Wl,--as-needed
EXTRA_src_sim_libcujit_sim_la_DEPENDENCIES = %D%/sim/libcujit-sim.map

# What it exports: every name of the tables.
sim_tables = $(top_srcdir)/src/cuda/symbols.def $(top_srcdir)/src/cuda/byvalue.def $(top_srcdir)/src/cuda/exports.def \
	$(top_srcdir)/src/cuda/exports_graphics.def
%D%/sim/libcujit-sim.map: $(sim_tables)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(AWK) -F '[(,][ ]*' 'BEGIN { print "{\n  global:" } \
	  /^CU(_SAME|_PER_THREAD)?\(/ { print "    " $$3 ";" } /^CU_LACKS\(/ { print "    " $$2 ";" } \
	  END { print "    cujit_sim_*;\n  local: *;\n};" }' $(sim_tables) >$@.new && mv $@.new $@
CLEANFILES += %D%/sim/libcujit-sim.map

# Where libcujit looks first: in cujit/ beside itself. So the build tree is used as the installed library is.
beside = .libs/cujit/libcujit-sim.so
noinst_DATA += $(beside) .libs/cujit/as-libcuda
$(beside): %D%/sim/libcujit-sim.la
	$(AM_V_GEN)test -d $(@D) || rm -f $(@D); $(MKDIR_P) $(@D) && rm -f $@ && $(LN_S) ../../%D%/sim/.libs/$(@F) $@
.libs/cujit/as-libcuda: $(shim)
	$(AM_V_GEN)test -d $(@D) || rm -f $(@D); $(MKDIR_P) $(@D) && rm -f $@ && $(LN_S) ../../%D%/sim/.libs/$(@F) $@

shim = %D%/sim/.libs/as-libcuda/libcuda.so.1
noinst_DATA += $(shim)
shimdir = $(pkglibdir)/as-libcuda

# A filter: its names are there for the linker only, and stand for those of the CPU device when a program runs. The same
# relative path serves the build tree and the installed one.
%D%/sim/as-libcuda.s: $(sim_tables)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(AWK) -F '[(,][ ]*' 'function name(n) { \
	    print "\t.globl " n "\n\t.type " n ", %function\n" n ":\n\t.long 0" } \
	  /^CU(_SAME|_PER_THREAD)?\(/ { name($$3) } /^CU_LACKS\(/ { name($$2) } \
	  END { print "\t.section .note.GNU-stack, \"\", %progbits" }' $(sim_tables) >$@.new && mv $@.new $@
CLEANFILES += %D%/sim/as-libcuda.s
$(shim): %D%/sim/libcujit-sim.la %D%/sim/as-libcuda.s
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -shared -nostartfiles -o $@ -Wl,-soname,libcuda.so.1 \
	  %D%/sim/as-libcuda.s -Wl,--filter,libcujit-sim.so -Wl,--no-as-needed %D%/sim/.libs/libcujit-sim.so \
	  -Wl,-rpath,'$$ORIGIN/..'
	$(AM_V_at)rm -f $(@D)/libcuda.so && $(LN_S) libcuda.so.1 $(@D)/libcuda.so

install-exec-hook: install-shim
install-shim: $(shim) install-pkglibLTLIBRARIES
	$(MKDIR_P) '$(DESTDIR)$(shimdir)'
	$(INSTALL_PROGRAM) $(shim) '$(DESTDIR)$(shimdir)/libcuda.so.1'
	rm -f '$(DESTDIR)$(shimdir)/libcuda.so' && $(LN_S) libcuda.so.1 '$(DESTDIR)$(shimdir)/libcuda.so'
uninstall-local:
	rm -f '$(DESTDIR)$(shimdir)/libcuda.so.1' '$(DESTDIR)$(shimdir)/libcuda.so'
CLEANFILES += $(shim) %D%/sim/.libs/as-libcuda/libcuda.so
endif

if WITH_STATIC
lib_LTLIBRARIES += libcujit-sim.la
libcujit_sim_la_SOURCES =
libcujit_sim_la_LIBADD = $(sim_parts) -lm
libcujit_sim_la_LIBTOOLFLAGS =
libcujit_sim_la_LDFLAGS = -static
endif
