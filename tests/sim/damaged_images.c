/* Images of the CPU device that were damaged, cut or forged are rejected before their sizes are followed; libcujit
 * rejects images of any kind that are shorter than they say. */
#include <stdlib.h>

#include <cujit/driver.h>

#include "base/mem.h"
#include "cuda/container.h"
#include "tests/conformance/driver_abi.h"

static const char text[] = ABI_HEAD ".visible .entry k()\n{\n  ret;\n}\n";

typedef struct part { uint64_t name_bytes, text_bytes; } part;

static unsigned char *image;      /* linked from the text */
static size_t image_bytes;

static void link_image(void)
{
    CUlinkState link;
    void *data;
    if (cu.cuLinkCreate(0, NULL, NULL, &link) ||
        cu.cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, sizeof text, "k.ptx", 0, NULL, NULL) ||
        cu.cuLinkComplete(link, &data, &image_bytes))
        tap_bail("no image");
    image = malloc(image_bytes);
    memcpy(image, data, image_bytes);
    cu.cuLinkDestroy(link);
}

/* Loads exactly these bytes, so that a checker of memory sees what is read beyond them. */
static CUresult load(const unsigned char *bytes, size_t n)
{
    unsigned char *exact = malloc(n);
    CUmodule m = NULL;
    memcpy(exact, bytes, n);
    CUresult r = cu.cuModuleLoadData(&m, exact);
    if (m && !r) cu.cuModuleUnload(m);
    free(exact);
    return r;
}

/* A changed image whose checksums are right. */
static CUresult load_forged(unsigned char *bytes, size_t n, uint64_t says)
{
    cji_container head;
    memcpy(&head, bytes, sizeof head);
    head.bytes = says;
    head.checksum = cji_hash(bytes + sizeof head, n - sizeof head);
    head.head_checksum = cji_hash(&head, offsetof(cji_container, head_checksum));
    memcpy(bytes, &head, sizeof head);
    return load(bytes, n);
}

static void every_bit_counts(void)
{
    unsigned accepted = 0;
    for (size_t i = 16; i < image_bytes; i++)
        for (int bit = 0; bit < 8; bit++) {
            image[i] ^= (unsigned char)(1 << bit);
            accepted += load(image, image_bytes) != CUDA_ERROR_INVALID_IMAGE;
            image[i] ^= (unsigned char)(1 << bit);
        }
    tap_is_uint(accepted, 0, "an image with one bit changed is rejected, in its sizes too");
    abi_is(load(image, image_bytes), CUDA_SUCCESS, "unchanged it is loaded");
}

static void forged_sizes(void)
{
    static const struct { const char *name; uint64_t name_bytes, text_bytes; } rows[] = {
        { "a text that ends behind the image", 5, 4096 },
        { "a name that ends behind the image", 4096, 1 },
        { "a text as long as 64 bits can say", 5, UINT64_MAX },
        { "a name as long as 64 bits can say", UINT64_MAX, sizeof text - 1 },
        { "sizes whose sum wraps", UINT64_MAX - 6, 8 },
        { "a name without its NUL", 4, sizeof text },
        { "a text without its NUL", 5, sizeof text - 2 },
        { "a text that ends before the image does", 5, 8 },
    };
    unsigned char *forged = malloc(image_bytes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        part p = { rows[i].name_bytes, rows[i].text_bytes };
        memcpy(forged, image, image_bytes);
        memcpy(forged + sizeof(cji_container), &p, sizeof p);
        abi_is(load_forged(forged, image_bytes, image_bytes), CUDA_ERROR_INVALID_IMAGE, "%s", rows[i].name);
    }
    memcpy(forged, image, image_bytes);
    forged[20] = 2;
    abi_is(load_forged(forged, image_bytes, image_bytes), CUDA_ERROR_INVALID_IMAGE, "two texts where one is there");
    memcpy(forged, image, image_bytes);
    abi_is(load_forged(forged, image_bytes, sizeof(cji_container) - 1), CUDA_ERROR_INVALID_IMAGE,
           "an image shorter than its header");
    free(forged);
}

static void the_linker_knows_the_size(void)
{
    CUlinkState link;
    unsigned accepted = 0;
    if (cu.cuLinkCreate(0, NULL, NULL, &link)) tap_bail("no linker");
    for (size_t n = 1; n < image_bytes; n++) {
        unsigned char *cut = malloc(n);
        memcpy(cut, image, n);
        accepted += cu.cuLinkAddData(link, CU_JIT_INPUT_CUBIN, cut, n, "cut", 0, NULL, NULL) == CUDA_SUCCESS;
        free(cut);
    }
    tap_is_uint(accepted, 0, "the linker takes no image that was cut");
    cu.cuLinkDestroy(link);
}

/* ---- libcujit ---------------------------------------------------------------------------------------------------- */

static void put16(unsigned char *p, uint16_t v) { memcpy(p, &v, sizeof v); }
static void put64(unsigned char *p, uint64_t v) { memcpy(p, &v, sizeof v); }

static void elf_head(unsigned char *p)
{
    memcpy(p, "\177ELF", 4);
    put64(p + 40, 64);        /* one section behind the head, whose 16 bytes lie behind it */
    put16(p + 58, 64);
    put16(p + 60, 1);
    put64(p + 64 + 24, 128);
    put64(p + 64 + 32, 16);
}

static void fatbin_head(unsigned char *p)
{
    memcpy(p, "\x50\xed\x55\xba\1\0\x10\0", 8);
    put64(p + 8, 128);
}

static void images_of_any_kind(cj_device *dev)
{
    unsigned char elf[256] = { 0 }, wide[256] = { 0 }, fat[256] = { 0 }, wrap[256] = { 0 };
    elf_head(elf);
    elf_head(wide);
    put64(wide + 64 + 32, UINT64_MAX);
    fatbin_head(fat);
    fatbin_head(wrap);
    put64(wrap + 8, UINT64_MAX - 4);
    const struct { const char *name; const void *data; size_t bytes; bool whole; } rows[] = {
        { "a cubin", elf, 144, true },
        { "a cubin without its last byte", elf, 143, false },
        { "a cubin cut in its head", elf, 10, false },
        { "a cubin cut in its table of sections", elf, 100, false },
        { "a cubin with a section that wraps", wide, 256, false },
        { "a fat binary", fat, 144, true },
        { "a fat binary without its last byte", fat, 143, false },
        { "a fat binary cut in its head", fat, 15, false },
        { "a fat binary whose size wraps", wrap, 256, false },
        { "an image of the CPU device", image, image_bytes, true },
        { "one without its last byte", image, image_bytes - 1, false },
        { "one cut in its header", image, 20, false },
        { "a text with its NUL", text, sizeof text, true },
        { "a text without it", text, sizeof text - 1, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_image *img = cj_image_from(dev, rows[i].data, rows[i].bytes);
        tap_is_int(cj_error_of(img)->status, rows[i].whole ? CJ_OK : CJ_EINVAL, "%s", rows[i].name);
        if (!rows[i].whole) tap_has_str(cj_error_of(img)->message, "was cut", "%s: the sentence", rows[i].name);
        cj_image_free(img);
    }
}

int main(void)
{
    abi_open();
    link_image();
    every_bit_counts();
    forged_sizes();
    the_linker_knows_the_size();
    cj_driver *drv = cj_driver_open_resolver(cujit_sim_get_symbol, NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    images_of_any_kind(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    free(image);
    return abi_close();
}
