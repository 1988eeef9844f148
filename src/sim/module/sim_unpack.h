/* Decompressors for what fat binaries hold: LZ4 blocks and Zstandard frames. Every size is checked before it is used:
 * any bytes may be passed. */
#ifndef CJI_SIM_UNPACK_H
#define CJI_SIM_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* Writes exactly `size` bytes to `out`; false: `from` is damaged, or unpacks to another size. */
bool cji_sim_unpack_lz4(const unsigned char *from, size_t bytes, unsigned char *out, size_t size);
/* The same for one frame without a dictionary; *no_memory tells apart why it is false. Its checksum is not compared:
 * what is unpacked is PTX, which is read as carefully as any. */
bool cji_sim_unpack_zstd(const unsigned char *from, size_t bytes, unsigned char *out, size_t size, bool *no_memory);

#endif
