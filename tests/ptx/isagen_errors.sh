#!/bin/sh
# The table's compiler names file and line of each mistake, and writes nothing then.
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
