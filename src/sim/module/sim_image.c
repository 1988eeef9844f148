/* Images: PTX text, and the container that stands for a cubin here - PTX texts behind a header (cuda/container.h), each
 * with its sizes. All sizes are compared with what is there before they are followed. What the driver's compiler would
 * say of a text's head (.version, .target) is said here; the rest is the engine's. */
#include "sim/module/sim_module.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cuda/container.h"

static const char sim_magic[16] = CJI_CONTAINER_MAGIC;
enum { SIM_CONTAINER_FORMAT = 3 };

typedef struct sim_container_text {
    uint64_t name_bytes, text_bytes, max_registers;
} sim_container_text; /* then the name and the text, each with a NUL; padded to 8 */

static size_t sim_padded(size_t n) { return (n + 7) / 8 * 8; }

static uint64_t sim_container_head_hash(const cji_container *h)
{
    return cji_hash(h, offsetof(cji_container, head_checksum));
}

bool cji_sim_container_make(const cji_exec_text *text, size_t n, void **out, size_t *bytes)
{
    size_t size = sizeof(cji_container);
    for (size_t i = 0; i < n; i++)
        size += sizeof(sim_container_text) + sim_padded(strlen(text[i].name) + 1 + text[i].bytes + 1);
    unsigned char *block = cji_zalloc(size);
    if (!block) return false;
    unsigned char *p = block + sizeof(cji_container);
    for (size_t i = 0; i < n; i++) {
        sim_container_text part = { strlen(text[i].name), text[i].bytes, text[i].max_registers };
        memcpy(p, &part, sizeof part);
        p += sizeof part;
        memcpy(p, text[i].name, part.name_bytes);
        memcpy(p + part.name_bytes + 1, text[i].text, part.text_bytes);
        p += sim_padded(part.name_bytes + 1 + part.text_bytes + 1);
    }
    cji_container head = { .format = SIM_CONTAINER_FORMAT, .count = (uint32_t)n, .bytes = size,
                           .checksum = cji_hash(block + sizeof head, size - sizeof head) };
    memcpy(head.magic, sim_magic, sizeof head.magic);
    head.head_checksum = sim_container_head_hash(&head);
    memcpy(block, &head, sizeof head);
    *out = block;
    *bytes = size;
    return true;
}

void cji_sim_image_free(sim_image *i)
{
    cji_free(i->text, i->n * sizeof *i->text);
    cji_free(i->copy, i->copy_bytes);
    memset(i, 0, sizeof *i);
}

void cji_sim_image_limit(sim_image *i, unsigned max_registers)
{
    const cji_container *head = i->copy;
    bool compiled = i->copy_bytes >= sizeof *head && !memcmp(head->magic, sim_magic, sizeof head->magic);
    for (size_t k = 0; k < i->n && !compiled; k++) i->text[k].max_registers = max_registers;
}

/* Whether the header's sizes agree with `bytes` bytes; bytes 0: unknown. A damaged size is found before it is used. */
static bool sim_container_good(const unsigned char *p, size_t bytes, cji_container *head)
{
    if (bytes && bytes < sizeof *head) return false;
    memcpy(head, p, sizeof *head);
    return head->head_checksum == sim_container_head_hash(head) && head->format == SIM_CONTAINER_FORMAT &&
           head->count && head->bytes >= sizeof *head && (!bytes || head->bytes <= bytes) &&
           (head->bytes - sizeof *head) / sizeof(sim_container_text) >= head->count &&
           cji_hash(p + sizeof *head, head->bytes - sizeof *head) == head->checksum;
}

/* The text at *at, of which `left` bytes are there; false: its sizes lead beyond them. */
static bool sim_container_next(const char **at, size_t *left, cji_exec_text *out)
{
    sim_container_text part;
    if (*left < sizeof part) return false;
    memcpy(&part, *at, sizeof part);
    size_t room = *left - sizeof part, used;
    if (part.name_bytes >= room || part.text_bytes >= room - part.name_bytes - 1) return false;
    const char *name = *at + sizeof part, *text = name + part.name_bytes + 1;
    used = sim_padded(part.name_bytes + 1 + part.text_bytes + 1);
    if (used > room || name[part.name_bytes] || text[part.text_bytes]) return false;
    *out = (cji_exec_text){ name, text, part.text_bytes, (uint32_t)part.max_registers };
    *at = name + used;
    *left = room - used;
    return true;
}

/* `p` has the magic. Everything is copied: the caller may free its memory. */
static CUresult sim_container_read(const unsigned char *p, size_t bytes, sim_image *out, cji_text *log)
{
    static const char damaged[] = "the image is damaged: its checksum or its sizes do not fit\n";
    cji_container head;
    if (!sim_container_good(p, bytes, &head)) {
        cji_text_puts(log, damaged);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    out->copy = cji_alloc(head.bytes);
    out->copy_bytes = out->copy ? head.bytes : 0;
    out->text = cji_zalloc(head.count * sizeof *out->text);
    out->n = out->text ? head.count : 0;
    if (!out->copy || !out->text) {
        cji_sim_image_free(out);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(out->copy, p, head.bytes);
    const char *at = (const char *)out->copy + sizeof head;
    size_t left = head.bytes - sizeof head;
    bool good = true;
    for (size_t i = 0; good && i < out->n; i++) good = sim_container_next(&at, &left, &out->text[i]);
    if (good && !left) return CUDA_SUCCESS;
    cji_sim_image_free(out);
    cji_text_puts(log, damaged);
    return CUDA_ERROR_INVALID_IMAGE;
}

static bool sim_is_machine_code(const unsigned char *p, size_t bytes)
{
    static const unsigned char elf[4] = { 0x7f, 'E', 'L', 'F' };
    return (!bytes || bytes >= 4) && p[0] && p[1] && p[2] && memcmp(p, elf, 4) == 0;
}

CUresult cji_sim_image_read(const void *image, size_t bytes, sim_image *out, cji_text *log)
{
    const unsigned char *p = image;
    memset(out, 0, sizeof *out);
    bool ours = (!bytes || bytes >= sizeof(cji_container)) &&
                strncmp(image, sim_magic, bytes && bytes < sizeof sim_magic ? bytes : sizeof sim_magic) == 0;
    if (ours) return sim_container_read(p, bytes, out, log);
    if (cji_sim_is_fatbin(p, bytes)) return cji_sim_fatbin_read(p, bytes, out, log);
    if (sim_is_machine_code(p, bytes)) {
        cji_text_printf(log, "the image holds machine code of a GPU: the CPU device runs PTX, fat binaries with PTX in "
                             "them, or what its own linker makes of it\n");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    size_t length = bytes ? strnlen(image, bytes) : strlen(image);
    out->text = cji_zalloc(sizeof *out->text);
    out->n = out->text != NULL;
    out->copy = cji_alloc(length + 1);
    out->copy_bytes = out->copy ? length + 1 : 0;
    if (!out->text || !out->copy) {
        cji_sim_image_free(out);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(out->copy, image, length);
    ((char *)out->copy)[length] = 0;
    out->text[0] = (cji_exec_text){ "ptx input", out->copy, length, 0 };
    return CUDA_SUCCESS;
}

/* ---- The head of a text ------------------------------------------------------------------------------------------ */

typedef struct sim_scan { const char *p, *end; unsigned line; } sim_scan;

static void sim_skip_blank(sim_scan *s)
{
    while (s->p < s->end) {
        if (*s->p == '\n') {
            s->line++;
            s->p++;
        } else if (isspace((unsigned char)*s->p)) {
            s->p++;
        } else if (s->end - s->p > 1 && s->p[0] == '/' && s->p[1] == '/') {
            while (s->p < s->end && *s->p != '\n') s->p++;
        } else if (s->end - s->p > 1 && s->p[0] == '/' && s->p[1] == '*') {
            for (s->p += 2; s->p < s->end && !(s->p[0] == '*' && s->end - s->p > 1 && s->p[1] == '/'); s->p++)
                if (*s->p == '\n') s->line++;
            s->p = s->end - s->p > 2 ? s->p + 2 : s->end;
        } else {
            return;
        }
    }
}

static bool sim_word(sim_scan *s, const char *word)
{
    size_t n = strlen(word);
    sim_skip_blank(s);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0) return false;
    s->p += n;
    return true;
}

static bool sim_number(sim_scan *s, unsigned *out)
{
    if (s->p == s->end || !isdigit((unsigned char)*s->p)) return false;
    for (*out = 0; s->p < s->end && isdigit((unsigned char)*s->p) && *out < 100000; s->p++)
        *out = *out * 10 + (unsigned)(*s->p - '0');
    return true;
}

static CUresult sim_check_head(const cji_exec_text *t, cji_text *log)
{
    sim_scan s = { t->text, t->text + t->bytes, 1 };
    unsigned major, minor, sm;
    if (!sim_word(&s, ".version")) {
        cji_text_printf(log, "%s:%u: this is not PTX: it does not begin with a .version directive\n", t->name, s.line);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    sim_skip_blank(&s);
    if (!sim_number(&s, &major) || s.p == s.end || *s.p++ != '.' || !sim_number(&s, &minor)) {
        cji_text_printf(log, "%s:%u: the .version directive wants a number such as 8.0\n", t->name, s.line);
        return CUDA_ERROR_INVALID_PTX;
    }
    if (major > SIM_PTX_VERSION / 10 || (major == SIM_PTX_VERSION / 10 && minor > SIM_PTX_VERSION % 10)) {
        cji_text_printf(log, "%s:%u: .version %u.%u is too new: the highest that this driver reads is %u.%u\n", t->name,
                        s.line, major, minor, SIM_PTX_VERSION / 10, SIM_PTX_VERSION % 10);
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    if (!sim_word(&s, ".target")) {
        cji_text_printf(log, "%s:%u: no .target directive behind .version\n", t->name, s.line);
        return CUDA_ERROR_INVALID_PTX;
    }
    if (!sim_word(&s, "sm_") || !sim_number(&s, &sm)) {
        cji_text_printf(log, "%s:%u: the .target directive wants a device such as sm_90\n", t->name, s.line);
        return CUDA_ERROR_INVALID_PTX;
    }
    char suffix = s.p < s.end && (*s.p == 'a' || *s.p == 'f') ? *s.p : 0;
    bool fits = suffix == 'a' ? sm == sim.set.sm && sim.set.sm_suffix == 'a'
              : suffix == 'f' ? sm / 10 == sim.set.sm / 10 && sm <= sim.set.sm && sim.set.sm_suffix
              : sm <= sim.set.sm;
    if (!fits) {
        char name[2] = { suffix, 0 }, own[2] = { sim.set.sm_suffix, 0 };
        cji_text_printf(
            log, "%s:%u: .target sm_%u%s does not fit this device, which is sm_%u%s (CUJIT_SIM_SM changes that)\n",
            t->name, s.line, sm, name, sim.set.sm, own);
        return CUDA_ERROR_INVALID_PTX;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sim_check_heads(const cji_exec_text *text, size_t n, cji_text *log)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < n && !r; i++) r = sim_check_head(&text[i], log);
    return r;
}

const cji_exec_kernel *cji_sim_shared_above(const cji_exec_program *p, uint64_t most)
{
    for (size_t i = 0; i < cji_exec_program_kernels(p); i++)
        if (cji_exec_program_kernel_at(p, i)->static_shared > most) return cji_exec_program_kernel_at(p, i);
    return NULL;
}

/* As the driver's compiler: a kernel may have what a block of the device can have, not only the 48 KiB of ptxas. */
static CUresult sim_check_shared(cji_exec_program **program, cji_text *log)
{
    uint64_t most = (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    const cji_exec_kernel *k = cji_sim_shared_above(*program, most);
    if (!k) return CUDA_SUCCESS;
    cji_text_printf(log, "kernel %s has %llu bytes of static shared memory; a block has at most %llu\n",
                    cji_short(k->name), (unsigned long long)k->static_shared, (unsigned long long)most);
    cji_exec_program_free(*program);
    *program = NULL;
    return CUDA_ERROR_INVALID_PTX;
}

CUresult cji_sim_module_build(const cji_exec_text *text, size_t n, cji_exec_program **out, cji_text *log)
{
    CUresult r = cji_sim_check_heads(text, n, log);
    if (r) return r;
    *out = cji_exec_program_make(text, n, log);
    if (*out) return sim_check_shared(out, log);
    const char *why = cji_text_str(log);   /* the sentences of the reader and the engine */
    bool memory = log->failed || strstr(why, "out of memory") || strstr(why, "no memory") || !why[strspn(why, " \n")];
    return memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
}

CUresult cji_sim_reject_log(CUresult r, cji_text *log)
{
    const char *line = cji_text_str(log);
    line += strspn(line, " \n");
    return *line ? cji_sim_reject(r, "%s", line) : r;
}
