#!/bin/sh
# Draws the pictures of docs/ from their Graphviz sources (Debian: apt-get install graphviz). With the folder of a build
# tree three of the sources are written anew first, by the examples whose graphs they are. usage: make.sh [BUILD]
set -eu
build=${1:+$(cd "$1" && pwd)}
cd "$(dirname "$0")"
if [ -n "$build" ]; then
    "$build/examples/graph_picture" graph.dot
    "$build/examples/graph_loop" loop.dot
    "$build/examples/tasks" tasks.dot
fi
for f in *.dot; do dot -Tsvg "$f" -o "${f%.dot}.svg"; done
