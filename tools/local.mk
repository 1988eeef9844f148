# tools: the command cujit (bin_PROGRAMS += cujit, linked with libcujit.la) and the generators the tree is made with
EXTRA_DIST += %D%/genlines.sh
