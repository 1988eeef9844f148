#!/bin/sh
# The comments of the public headers: each function has one, errors are a list, sentences that bindings are made from
# are spelled as
# CONTRIBUTING.md has them.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
cd "$top_srcdir" || exit 1

# FILE...: functions without a comment. One holds for all declarations below it up to the next blank line, or is on the
# same line.
without_comment()
{
    awk '
        FNR == 1 || /^$/ { has = 0 }
        /^\/\*/ && !/^\/\* ----/ { has = 1 }
        /^CJ_API / && !has && !/\/\*/ { print FILENAME ":" FNR ": " $0 }
    ' "$@"
}

# FILE...: errors that are not one a line.
errors_in_a_row()
{
    awk '
        /^(\/\*| \*)/ && /Errors[^:]*: *CJ_E/ { print FILENAME ":" FNR ": " $0 }
        /^ \*   CJ_E[A-Z]+/ && !/^ \*   CJ_E[A-Z]+(, CJ_E[A-Z]+)*: / { print FILENAME ":" FNR ": " $0 }
    ' "$@"
}

# FILE...: the sentences of ownership, time and threads in another spelling.
other_spelling()
{
    awk '
        /^(\/\*| \*)/ && (/owned by the caller/ || /Owned by the caller[^,]/ || /NULL is fine/ || /[a-z`)] belongs to `/ ||
            /[a-z`] may be NULL/) { print FILENAME ":" FNR ": " $0 }
    ' "$@"
}

cat >"$tap_work/planted.h" <<'END'
/* Has one.  Owned by the caller, free with cj_free.
 * Errors:
 *   CJ_EINVAL: 0 bytes */
CJ_API void cj_one(void);
CJ_API void cj_two(void);

CJ_API void cj_three(void);

/* Has one; owned by the caller.  NULL is fine.  Errors: CJ_EINVAL for 0 bytes.
 *   CJ_ENOMEM where there is no memory */
CJ_API void cj_four(void);
END
without_comment "$tap_work/planted.h" | grep -c . | grep -qx 1 && errors_in_a_row "$tap_work/planted.h" | grep -c . | grep -qx 2 &&
    other_spelling "$tap_work/planted.h" | grep -c . | grep -qx 1
result $? 'what is planted is found'

without_comment include/cujit/*.h >"$tap_work/out"
result_empty 'each function of the headers has a comment' "$tap_work/out"
errors_in_a_row include/cujit/*.h >"$tap_work/out"
result_empty 'errors in the headers are a list, one a line' "$tap_work/out"
other_spelling include/cujit/*.h >"$tap_work/out"
result_empty 'sentences that bindings are made from have one spelling' "$tap_work/out"
finish
