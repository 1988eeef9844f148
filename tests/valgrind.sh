#!/bin/sh
# Runs one compiled test (or the two-line script of a device program) under memcheck; any leak or error exits with 99.
# With CUJIT_VALGRIND_TOOL=helgrind: under Helgrind, any race or disorder of locks.
# usage: valgrind.sh PROGRAM ARGS...
wrap="${VALGRIND:-valgrind} -q --error-exitcode=99"
if [ "$CUJIT_VALGRIND_TOOL" = helgrind ]; then
    wrap="$wrap --tool=helgrind --fair-sched=try"
else
    wrap="$wrap --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all"
fi
wrap="$wrap --num-callers=30 --child-silent-after-fork=yes --suppressions=$(dirname "$0")/valgrind.supp"
wrap="$wrap $CUJIT_VALGRIND_FLAGS"
CUJIT_UNDER_VALGRIND=1
export CUJIT_UNDER_VALGRIND
case $1 in
*.sim|*.gpu) CUJIT_TEST_WRAP=$wrap exec "$@" ;;
*) exec $wrap "$@" ;;
esac
