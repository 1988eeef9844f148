#!/bin/sh
# make demo: what the library is for, shown with the examples expr and mandelbrot, on the GPU or, without one, on the
# CPU device.
# usage: demo.sh SOURCE_TREE BUILD_TREE
set -eu
data=$1/examples/data/places.csv
cd "$2"

# ARGUMENTS...: of expr; shown as one would type them, then run
expression()
{
    printf '\n$ expr'
    for a in "$@"; do
        case $a in
        "$data") printf ' places.csv' ;;
        *[!a-zA-Z0-9_./-]*) printf " '%s'" "$a" ;;
        *) printf ' %s' "$a" ;;
        esac
    done
    printf '\n'
    ./examples/expr "$@"
}

places=$(($(wc -l <"$data") - 1))
echo "The expression that you type becomes a kernel while the program runs; $places places of the world are its rows."
expression 'hypot(lat - 48.87, lon - 2.33) < 6' "$data"
expression --sum 'lat < 0 ? 1 : 0' "$data"
expression --sum --repeat 10000 'hypot(lat, lon) < 30 && lat > 0 ? sqrt(abs(lat * lon)) : 0' "$data"
printf '\nFunctions are accurate to the last bits: places within 400 km of Paris, on the sphere.\n'
expression '6371 * acos(sin(lat/57.29578) * sin(48.87/57.29578) +
    cos(lat/57.29578) * cos(48.87/57.29578) * cos((lon - 2.33)/57.29578)) < 400' "$data"
printf '\nA mistake in it is shown where it is:\n'
expression 'hypot(lat, lon < 3' "$data" || :

printf '\nA picture, one thread of the kernel for each pixel:\n\n$ mandelbrot mandelbrot.ppm\n'
./examples/mandelbrot mandelbrot.ppm
printf '(%s/mandelbrot.ppm opens in any picture viewer)\n' "$(pwd)"
