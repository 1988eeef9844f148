/* Fat binaries, and the decompressors of what is in them: whatever is changed, adding one to a linker fails with a
 * code, and nothing is read or written beyond what is there. Every fourth input goes to the decompressors alone. */
#include "sim/module/sim_unpack.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/sim/fat_samples.h"

const char cji_fuzz_name[] = "fatbin";
const bool cji_fuzz_is_text = false, cji_fuzz_has_threads = false;

void cji_fuzz_begin(void) { fuzz_open(); }

void cji_fuzz_seeds(void)
{
    cji_fuzz_add(fat_zstd, sizeof fat_zstd);
    cji_fuzz_add(fat_lz4, sizeof fat_lz4);
    cji_fuzz_add(fat_zstd + 96, sizeof fat_zstd - 96);
    cji_fuzz_add(fat_lz4 + 96, sizeof fat_lz4 - 96);
}

/* Into exactly as much room as is said, so that a sanitizer sees one byte more. */
static int unpack(const uint8_t *data, size_t size)
{
    size_t room = size ? data[size - 1] * (size_t)64 + data[0] : 0;
    unsigned char *out = malloc(room ? room : 1);
    bool no_memory = false;
    if (!out) cji_fuzz_fail("no memory");
    int good = cji_sim_unpack_zstd(data, size, out, room, &no_memory) + cji_sim_unpack_lz4(data, size, out, room);
    if (no_memory) cji_fuzz_fail("no memory for %zu bytes", room);
    free(out);
    return good > 0;
}

int cji_fuzz_one(const uint8_t *data, size_t size)
{
    CUlinkState l;
    if (size % 4 == 3 || size < 16) return unpack(data, size);
    fuzz_context();
    uint8_t *copy = malloc(size);
    if (!copy || cu.cuLinkCreate(0, NULL, NULL, &l)) cji_fuzz_fail("no linker");
    memcpy(copy, data, size);
    CUresult r = cu.cuLinkAddData(l, CU_JIT_INPUT_FATBINARY, copy, size, "fat", 0, NULL, NULL);
    cu.cuLinkDestroy(l);
    free(copy);
    return !r;
}
