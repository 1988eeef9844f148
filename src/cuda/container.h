/* The head of the CPU device's images, which stand for cubins there: PTX texts behind a header
 * (sim/module/sim_image.c). cuModuleLoadData gets no size, so the header says how long the image is, and has a
 * checksum of its own. */
#ifndef CJI_CONTAINER_H
#define CJI_CONTAINER_H

#include <stdint.h>

#define CJI_CONTAINER_MAGIC "\177cujit-sim-ptx\n"   /* with its NUL: 16 bytes */

typedef struct cji_container {
    char magic[16];
    uint32_t format, count;
    uint64_t bytes;                 /* all of it */
    uint64_t checksum;              /* of what follows this header */
    uint64_t head_checksum;         /* of this header up to here */
} cji_container;

#endif
