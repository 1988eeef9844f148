#!/bin/sh
# Mutation: builds each fault of tests/mutants in a copy of the tree and runs the test that is named with it, which must
# fail.
# usage: mutants.sh SRCDIR BUILDDIR [NAME...]      (make check-mutants; MUTANTS='NAME...' for some of them)
#
# A patch changes one .c, .h or .inc file, and begins with two comment lines: the test that must fail (tests/area/name,
# or name.sim for a device program on the CPU device), and the fault in words. The faults of generated.def are made by
# mutate.c. A mutant that survives, a patch or a place that no longer exists, one that does not compile, and a test that
# fails without a fault are failures. Everything is done in BUILDDIR/mutants, by as many workers as there are processors
# (CUJIT_MUTANT_JOBS).
src=$1 build=$2
shift 2
make=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL
jobs=${CUJIT_MUTANT_JOBS:-$(nproc 2>/dev/null || echo 2)}
work=$build/mutants
LC_ALL=C
export LC_ALL
cd "$src" && src=$(pwd) || exit 1

# -- The list ----------------------------------------------------------------------------------------------------------

mutate=$build/tests/mutants/mutate
(cd "$build" && $make tests/mutants/mutate) >/dev/null || {
    echo "check-mutants: tests/mutants/mutate.c does not compile" >&2
    exit 1
}
generated=$("$mutate" --list)

is_patch() { [ -r "$src/tests/mutants/$1.patch" ]; }

test_of()
{
    if is_patch "$1"; then
        sed -n '1s/^# *//p' "$src/tests/mutants/$1.patch"
    else
        echo "$generated" | sed -n "s,^$1 ,,p"
    fi
}

list=
if [ $# -gt 0 ]; then
    for name; do list="$list ${name%.patch}"; done
else
    list="$(ls "$src/tests/mutants" | sed -n 's/\.patch$//p') $(echo "$generated" | cut -d' ' -f1)"
fi
count=0
for name in $list; do
    [ "$(test_of "$name")" ] || { echo "check-mutants: there is no mutant $name" >&2; exit 1; }
    count=$((count + 1))
done
[ "$count" -lt "$jobs" ] && jobs=$count

# -- A worker's copy ---------------------------------------------------------------------------------------------------

# Of the sources everything but builds and the repository, with its times, so that only what a mutant changes is
# compiled anew.
copy_tree()
{
    mkdir -p "$1/src" "$1/build" || return 1
    for f in "$src"/*; do
        [ "$f" -ef "$build" ] || [ -e "$f/config.status" ] || cp -pR "$f" "$1/src/" || return 1
    done
    for f in "$build"/* "$build"/.[!.]*; do
        [ ! -e "$f" ] || [ "$f" -ef "$work" ] || cp -pR "$f" "$1/build/" || return 1
    done
    chmod -R u+w "$1" && own_dependencies "$1"
}

# The way from the build folder to the sources: configure may have been called by a relative name, and a compiler's
# cache may write one too.
relative=
common=$build
while [ "${src#"$common"/}" = "$src" ] && [ "$src" != "$common" ]; do
    common=${common%/*}
    relative=../$relative
done
relative=$relative${src#"$common"}
relative=$(echo "$relative" | sed 's,//,/,g; s,/$,,')

# What the objects of a copy were compiled from are the copy's sources.
own_dependencies()
{
    find "$1/build" -name '*.Po' -o -name '*.Plo' >"$1/dependencies"
    while read -r file; do
        sed "s,^$src/,$1/src/,; s, $src/, $1/src/,g; s,^$relative/,$1/src/,; s, $relative/, $1/src/,g" \
            "$file" >"$1/new" && cat "$1/new" >"$file"
    done <"$1/dependencies"
}

# Targets in a worker's copy of the build; the copy's paths take the place of those that configure wrote.
make_in()
{
    tree=$1
    shift
    (cd "$tree/build" && $make VPATH="$tree/src" \
        srcdir="$tree/src" top_srcdir="$tree/src" abs_srcdir="$tree/src" abs_top_srcdir="$tree/src" \
        abs_builddir="$tree/build" abs_top_builddir="$tree/build" werror_cflags= \
        ACLOCAL=: AUTOCONF=: AUTOMAKE=: AUTOHEADER=: "$@")
}

# Builds and runs a test; 0: it passes, 1: it fails, 2: it was not built.  Its output is in $1/out.
run_test()
{
    make_in "$1" src/sim/libcujit-sim.la "${2%.sim}" >"$1/out" 2>&1 || return 2
    (cd "$1/build" && CUJIT_DRIVER=sim CUJIT_SIM="$1/build/src/sim/.libs/libcujit-sim.so" CUJIT_CACHE=0 \
        top_srcdir="$1/src" top_builddir="$1/build" timeout -k 1 120 "./${2%.sim}") >"$1/out" 2>&1
    status=$?
    echo "# exit status $status" >>"$1/out"
    [ $status = 0 ] && ! grep -q '^not ok\|^Bail out' "$1/out"
}

# -- One mutant --------------------------------------------------------------------------------------------------------

why()
{
    grep -m 1 'error:' "$1/out" || grep -m 1 '^not ok\|^Bail out' "$1/out" ||
        grep '^# exit status' "$1/out" | sed 's/^# exit status 124/it did not end/'
}

# Puts a fault into the tree; what changed is in $tree/out, and the file as it was in $tree/original.
put()
{
    tree=$1 name=$2
    if is_patch "$name"; then
        patch=$src/tests/mutants/$name.patch
        file=$(sed -n 's,^--- a/,,p' "$patch")
        case $file in
        *.c | *.h | *.inc) ;;
        *) echo "it changes no .c, .h or .inc file" >"$tree/out"; return 1 ;;
        esac
        cp -p "$tree/src/$file" "$tree/original" 2>"$tree/out" &&
            patch -s -f -d "$tree/src" -p1 <"$patch" >"$tree/out" 2>&1 && return
        echo "it no longer applies to $file" >"$tree/out"
        return 1
    fi
    "$mutate" "$tree/src" "$name" "$tree/original" >"$tree/out" 2>&1 || return 1
    file=$(head -1 "$tree/out")
}

try()
{
    tree=$1 name=$2 file=
    test=$(test_of "$name")
    key=$tree/passed.$(echo "$test" | tr / .)
    if [ ! -e "$key" ]; then
        run_test "$tree" "$test" || { echo "BROKEN   $name: $test fails without the fault: $(why "$tree")"; return; }
        : >"$key"
    fi
    if ! put "$tree" "$name"; then
        echo "BROKEN   $name: $(head -1 "$tree/out")"
    else
        run_test "$tree" "$test"
        case $? in
        0) echo "SURVIVED $name: $test passes" ;;
        1) echo "killed   $name: $test: $(why "$tree")" ;;
        *) echo "BROKEN   $name: it does not compile: $(grep -m 1 'error:' "$tree/out")" ;;
        esac
    fi
    # newer than the mutant's object
    [ -z "$file" ] || [ ! -e "$tree/original" ] || cat "$tree/original" >"$tree/src/$file"
    rm -f "$tree/original" "$tree/src/$file.orig" "$tree/src/$file.rej"
}

rm -rf "$work"
worker=0
while [ $worker -lt "$jobs" ]; do
    (
        tree=$work/$worker number=0
        copy_tree "$tree" || { echo "BROKEN   no copy of the tree in $tree"; exit; }
        for name in $list; do
            [ $((number % jobs)) = $worker ] && try "$tree" "$name"
            number=$((number + 1))
        done
        [ "$CUJIT_MUTANT_KEEP" ] || rm -rf "$tree"
    ) 2>/dev/null &
    worker=$((worker + 1))
done >"${TMPDIR:-/tmp}/mutants.$$"
wait
sort "${TMPDIR:-/tmp}/mutants.$$"
killed=$(grep -c '^killed' "${TMPDIR:-/tmp}/mutants.$$")
[ "$CUJIT_MUTANT_KEEP" ] || rm -rf "$work"; rm -f "${TMPDIR:-/tmp}/mutants.$$"
echo "$killed of $count mutants were killed"
[ "$killed" = "$count" ]
