/* A program that is linked with -static can load no driver: its dlopen would bring a second C library, whose threads
 * crash. */
#include <elf.h>
#include <link.h>

#include "driver/open.h"

/* The first object is the program. Every program that has an interpreter (ld.so) has one C library. */
static int find_interpreter(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP) *(bool *)found = true;
    return 1;
}

bool cji_static_program(void)
{
    bool found = false;
    return dl_iterate_phdr(find_interpreter, &found) == 1 && !found;
}
