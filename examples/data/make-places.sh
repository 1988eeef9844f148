#!/bin/sh
# Makes places.csv from tzdata's zone1970.tab: usage: make-places.sh [zone1970.tab] >places.csv
# Coordinates (ISO 6709, +DDMM+DDDMM or +DDMMSS+DDDMMSS) become decimal degrees, rounded to 4 digits; north and east are
# positive.
LC_ALL=C exec awk -F'\t' '
function degrees(text, d,   sign, v) {
    sign = substr(text, 1, 1) == "-" ? -1 : 1
    text = substr(text, 2)
    v = substr(text, 1, d) + substr(text, d + 1, 2) / 60
    if (length(text) > d + 2) v += substr(text, d + 3, 2) / 3600
    return sprintf("%.4f", sign * v)
}
BEGIN { print "place,region,country,lat,lon" }
/^#/ { next }
{
    split($1, country, ",")
    n = split($3, name, "/")
    place = name[n]
    gsub(/_/, " ", place)
    match(substr($2, 2), /[+-]/)
    print place "," name[1] "," country[1] "," degrees(substr($2, 1, RSTART), 2) "," degrees(substr($2, RSTART + 1), 3)
}' "${1:-/usr/share/zoneinfo/zone1970.tab}"
