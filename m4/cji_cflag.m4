dnl CJI_CFLAG(FLAG): adds FLAG to warn_cflags when the compiler knows it
AC_DEFUN([CJI_CFLAG], [
  AS_VAR_PUSHDEF([cached], [cji_cv_cflag_$1])
  AC_CACHE_CHECK([whether $CC accepts $1], [cached],
    [saved=$CFLAGS; CFLAGS="$CFLAGS -Werror $1"
     AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [AS_VAR_SET([cached], [yes])], [AS_VAR_SET([cached], [no])])
     CFLAGS=$saved])
  AS_VAR_IF([cached], [yes], [warn_cflags="$warn_cflags $1"])
  AS_VAR_POPDEF([cached])])
