# Building blocks of kernels.
text_tests += %D%/lists %D%/block_texts %D%/block_mistakes %D%/matrix_texts
device_tests += %D%/reductions %D%/grid_barriers %D%/rings %D%/rings_of_tiles %D%/short_copies %D%/fragment_places %D%/fragment_elements %D%/matrices %D%/matrix_bits %D%/matrix_moves %D%/warpgroup_bits
sh_tests += %D%/not_nested.sh
EXTRA_DIST += %D%/block_parts.h %D%/matrix_modules.h %D%/matrix_model.h
