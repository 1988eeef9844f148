#!/bin/sh
# The man pages say what there is: cujit(1) each command and option, cujit(3) each header and environment variable.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
source=$(cd "$top_srcdir" && pwd)
cd "$tap_work" || exit 1
# roff: a '-' of an option is \-, fonts are \fX
for page in cujit.1 cujit.3; do sed -e 's/\\-/-/g' -e 's/\\f.//g' "$source/docs/man/$page" >"$page"; done

commands=$("$CUJIT_BIN" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')
[ "$(echo "$commands" | wc -w)" -ge 4 ]
result $? 'cujit --help lists the commands'
# COMMAND FILE: the options of a help text; a command's page is its section
options() { grep -oE -e '--[a-z]+' | sort -u; }
for command in $commands; do
    "$CUJIT_BIN" "$command" --help | options >has
    ${AWK:-awk} -v c="$command" '/^\.S[SH] /{ on = $2 == c } on' cujit.1 | options >says
    grep -q "^\.SS $command\$" cujit.1 && diff has says >differences
    result $? "cujit(1) has the command $command and its options" differences
done
"$CUJIT_BIN" --help | options >has
sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' cujit.1 | options >says
diff has says >differences
result $? 'cujit(1) has the options of cujit' differences
sed -n 's/^\.SS //p' cujit.1 | while read -r command; do
    echo "$commands" | grep -qx -e "$command" || echo "$command"
done >strangers
result_empty 'cujit(1) has no other command' strangers

(cd "$source/include" && ls cujit/*.h* | sort) >has
sed -n '/^\.SH HEADERS/,/^\.SH LINKING/s/^\.B \(cujit\/[a-z_]*\.h[p]*\)$/\1/p' cujit.3 | sort >says
diff has says >differences
result $? 'cujit(3) has each header' differences
sed -n 's/^ENV(.*"\(CUJIT_[A-Z_]*\)".*/\1/p' "$source/src/base/environment.def" | sort >has
sed -n '/^\.SH ENVIRONMENT/,/^\.SH SEE/s/^\.B \(CUJIT_[A-Z_]*\)$/\1/p' cujit.3 | sort >says
diff has says >differences
result $? 'cujit(3) has each environment variable' differences

for page in cujit.1 cujit.3; do
    grep -q "\"cujit $("$CUJIT_BIN" --version | cut -d' ' -f2)\"" "$page"
    result $? "$page is of this version"
    if command -v groff >/dev/null 2>&1; then
        groff -man -Tascii -ww "$source/docs/man/$page" >/dev/null 2>warnings
        result_empty "groff formats $page without a warning" warnings
    else skip "groff formats $page without a warning" 'there is no groff'
    fi
done
finish
