/* What tells one build of a library from another: the linker's build id, or the file's size and time. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/cache/disk_cache.h"

/* An object of the process that is looked for. */
typedef struct build_search {
    uintptr_t address;
    const unsigned char *id;
    size_t id_bytes;
    bool found, program;
} build_search;

static void search_notes(build_search *s, const unsigned char *p, size_t bytes)
{
    ElfW(Nhdr) note;
    while (bytes >= sizeof note) {
        memcpy(&note, p, sizeof note);
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3, content = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > bytes - sizeof note || content > bytes - sizeof note - name) return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(p + sizeof note, "GNU", 4) == 0) {
            s->id = p + sizeof note + name;
            s->id_bytes = note.n_descsz;
            return;
        }
        p += sizeof note + name + content;
        bytes -= sizeof note + name + content;
    }
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *user)
{
    build_search *s = user;
    bool inside = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && !inside; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        inside = p->p_type == PT_LOAD && s->address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz;
    }
    if (!inside) return 0;
    s->found = true;
    s->program = !info->dlpi_name || !*info->dlpi_name;
    for (int i = 0; i < info->dlpi_phnum && !s->id; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            search_notes(s, (const unsigned char *)info->dlpi_addr + p->p_vaddr, p->p_memsz);
    }
    return 1;
}

static build_search search_build(const void *address)
{
    build_search s = { .address = (uintptr_t)address };
    dl_iterate_phdr(look_at_object, &s);
    return s;
}

static bool put_file(cji_hasher *h, const char *path)
{
    struct stat s;
    if (stat(path, &s)) return false;
    cji_hasher_u64(h, (uint64_t)s.st_size);
    cji_hasher_u64(h, (uint64_t)s.st_mtim.tv_sec);
    cji_hasher_u64(h, (uint64_t)s.st_mtim.tv_nsec);
    return true;
}

bool cji_build_identity(const void *address, cji_hasher *h)
{
    build_search s = search_build(address);
    Dl_info info;
    if (s.id) {
        cji_hasher_list(h, s.id, s.id_bytes, 1);
        return true;
    }
    return s.found && dladdr(address, &info) && info.dli_fname && put_file(h, info.dli_fname);
}

void cji_build_own(cji_hasher *h)
{
    static const char here;
    build_search s = search_build(&here);
    /* The kernels of a program that has the library in it would be compiled anew with each change of the program. */
    if (s.found && !s.program) cji_build_identity(&here, h);
}

void cji_build_neighbour(const void *address, const char *name, cji_hasher *h)
{
    Dl_info info;
    char path[CJI_DISK_PATH];
    if (!dladdr(address, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    if (snprintf(path, sizeof path, "%.*s%s", folder, info.dli_fname, name) < (int)sizeof path) put_file(h, path);
}
