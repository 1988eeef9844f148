/* The image that stands for a cubin on the CPU device: whatever is changed in one, loading it fails with a code, and
 * reads nothing beyond it. Every second input has its checksums set right again, so that what lies behind is read. */
#include "cuda/container.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz_driver.h"

const char cji_fuzz_name[] = "container";
const bool cji_fuzz_is_text = false, cji_fuzz_has_threads = false;

void cji_fuzz_begin(void) { fuzz_open(); }

static const char first[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry a(.param .u32 n) { ret; }\n";
static const char second[] = ".version 7.0\n.target sm_70\n.address_size 64\n.global .b32 g[4] = {1, 2, 3, 4};\n"
                             ".visible .entry b() { trap; }\n";

/* Images of one text and of two. */
void cji_fuzz_seeds(void)
{
    for (int n = 1; n <= 2; n++) {
        CUlinkState l;
        void *image;
        size_t bytes;
        CUresult r = cu.cuLinkCreate(0, NULL, NULL, &l);
        for (int i = 0; i < n && !r; i++)
            r = cu.cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)(i ? second : first), i ? sizeof second : sizeof first,
                                 i ? "second" : "first", 0, NULL, NULL);
        if (!r) r = cu.cuLinkComplete(l, &image, &bytes);
        if (r) cji_fuzz_fail("no image: %d", r);
        cji_fuzz_add(image, bytes);
        cu.cuLinkDestroy(l);
    }
}

int cji_fuzz_one(const uint8_t *data, size_t size)
{
    cji_container head;
    CUmodule m;
    CUlinkState l;
    if (size < sizeof head) return 0;
    uint8_t *image = malloc(size);
    if (!image) cji_fuzz_fail("no memory");
    memcpy(image, data, size);
    memcpy(&head, image, sizeof head);
    if (size & 1 && head.bytes >= sizeof head && head.bytes <= size) {
        head.checksum = cji_hash(image + sizeof head, head.bytes - sizeof head);
        head.head_checksum = cji_hash(&head, offsetof(cji_container, head_checksum));
        memcpy(image, &head, sizeof head);
    }
    fuzz_context();
    CUresult r = cu.cuLinkCreate(0, NULL, NULL, &l);
    if (r) cji_fuzz_fail("no linker");
    cu.cuLinkAddData(l, CU_JIT_INPUT_CUBIN, image, size, "image", 0, NULL, NULL);
    cu.cuLinkDestroy(l);
    /* no size is given here: only a header that says the right one may be followed */
    r = CUDA_ERROR_INVALID_IMAGE;
    if (head.bytes <= size && !memcmp(head.magic, CJI_CONTAINER_MAGIC, sizeof head.magic))
        r = cu.cuModuleLoadData(&m, image);
    if (!r) cu.cuModuleUnload(m);
    free(image);
    return !r;
}
