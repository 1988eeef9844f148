#!/bin/sh
# Draws the pictures of docs/ again from their Graphviz sources (Debian: apt-get install graphviz).
cd "$(dirname "$0")" || exit 1
for f in *.dot; do dot -Tsvg "$f" -o "${f%.dot}.svg" || exit 1; done
