#!/bin/sh
# The table's compiler names file and line of each mistake in a row, and writes nothing then.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
isa="$top_srcdir/src/ptx/isa"

# wrong ROW MESSAGE: the row, in line 3 of a file, gives that message
wrong()
{
    printf '/* a comment\n   of two lines */\n%s\n' "$1" >"$tap_work/rows.def"
    rm -f "$tap_work/data.c"
    "$top_builddir/isagen" "$tap_work/data.c" "$tap_work/ids.h" \
        "$isa/targets.def" "$isa/sets.def" "$tap_work/rows.def" >"$tap_work/out" 2>&1
    status=$?
    [ "$status" -ne 0 ] && [ ! -e "$tap_work/data.c" ] && grep -qF "rows.def:3: $2" "$tap_work/out"
    result $? "$2" "$tap_work/out"
}

wrong 'I(ADD, "9.7.1.1", "add.<NONE>.s32", "=s32, s32, s32", 2.0, 20, PURE)' "no SET 'NONE'"
wrong 'I(ADD, "9.7.1.1", "add.s32", "=s32, s23, s32", 2.0, 20, PURE)' "operands: no class and no slot at 's23'"
wrong 'I(SUB, "9.7.1.1", "add.s32", "=s32, s32, s32", 2.0, 20, PURE)' "op SUB is not how 'add.s32' begins"
wrong 'I(ADD, "9.7.1.1", "add.s32", "=s32, s32, s32", 2, 20, PURE)' "'2' is no PTX version"
wrong 'I(ADD, "9.7.1.1", "add.s32", "=s32, s32, s32", 2.0, 999, PURE)' "no target set '999'"
wrong 'I(ADD, "9.7.1.1", "add.s32", "=s32, s32, s32", 2.0, 20, QUICK)' "no effect 'QUICK'"
wrong 'I(ADD, "11.1", "add.s32", "=s32, s32, s32", 2.0, 20, PURE)' "'11.1' is no section"
wrong 'I(ADD, "9.7.1.1", "add.s32", "=s32, s32, s32", 2.0, 20)' "a row wants op, section"
wrong 'I(ADD, "9.7.1.1", "add{.sat.s32", "=s32, s32, s32", 2.0, 20, PURE)' "spelling: braces hold one modifier"
wrong 'I(ADD, "9.7.1.1", "add.sat@2.0,20.s32", "=s32, s32, s32", 2.0, 20, PURE)' \
    "spelling: only a modifier in braces has needs"
wrong 'I(ADD, "9.7.1.1", "add{.sat}{.sat}.s32", "=s32, s32, s32", 2.0, 20, PURE)' "modifier sat is there twice"
wrong 'I(ADD, "9.7.1.1", "add.s32", "=s32, {s32*2, s32", 2.0, 20, PURE)' "operands: "
wrong 'I(ADD, "9.7.1.1", "add.s32", "=s32, s32?hint, s32", 2.0, 20, PURE)' "operands: no modifier at 'hint'"
wrong 'I(LD, "9.7.9.8", "ld.<V:v2 v4>.s32", "{=s32*V}, []", 2.0, 20, READ)' \
    "operands: the slot has a value without a number"
wrong 'I(LD, "9.7.9.8", "ld.s32", "=s32, [elsewhere]", 2.0, 20, READ)' "operands: no state space and no slot"
wrong 'I(SHF, "9.7.8.7", "shf.b32", "=b32, b32, 1-2", 2.0, 20, PURE)' "operands: expected lo/hi"
wrong 'SET(X, "a:nothing")' "no CLASS 'nothing'"
wrong 'SET(X, "a b a")' "value 'a' is there twice"
wrong 'CLASS(x, s32, "s32 s33", INT)' "CLASS x: no type 's33'"
wrong 'CLASS(x, s32, "s32", INTEGER)' "CLASS x: no kind of literal 'INTEGER'"
wrong 'I(ADD, "9.7.1.1", "add.s32", "=s32, s32, s32", 2.0, 20, PURE) SET(X, "a b")' "SET X is used nowhere"
wrong 'I(ADD, "9.7.1.1", "add|.sat|.s32", "=s32, s32, s32", 2.0, 20, PURE)' "spelling: a name ends once"
wrong 'ORDER("s32 s33")' "'s32' is in another ORDER"
wrong 'ORDER("nowhere") I(ADD, "9.7.1.1", "add.s32", "=s32, s32, s32", 2.0, 20, PURE)' "ORDER: no row has 'nowhere'"
wrong 'ROW(ADD)' "no entry 'ROW'"
wrong '+' "expected NAME(...)"
wrong 'SET(X, "a' "a string does not end on its line"
finish
