/* Modules: their life, names, source places, failures, and what they need of version and target. */
#include <stdio.h>
#include <string.h>

#include "base/first.h"
#include "base/log.h"
#include "ptx/ptx.h"
#include "ptx/build.h"

#include <cujit/parse.h>

/* What constructors give when there is no module to make anything in. */
static cji_record no_module_record = {
    .refs = 1, .e = { .status = CJ_EHANDLE, .call = "cj_ptx_kernel", .message = "the module is not a cj_ptx" }
};
static cji_obj no_module = { .magic = CJI_MAGIC, .tag = CJI_TAG_FN, .flags = CJI_OBJ_FAILED | CJI_OBJ_IMMORTAL,
                             .err = { .record = &no_module_record, .call = "cj_ptx_kernel", .status = CJ_EHANDLE } };

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* A failed function that lives as long as its module. */
static void failed_fn(cji_obj *o)
{
    o->magic = CJI_MAGIC;
    o->tag = CJI_TAG_FN;
    o->flags = CJI_OBJ_FAILED | CJI_OBJ_IMMORTAL;
}

cj_ptx *cj_ptx_create(void)
{
    cj_ptx *m = cji_obj_new(sizeof *m, CJI_TAG_PTX, CJI_OBJ_STICKY, "cj_ptx_create");
    if (cji_obj_failed(m)) return m;
    cji_first_fetch_early();
    failed_fn(&m->bad);
    failed_fn(&m->missing);
    m->bad.err_in = &m->obj;
    m->address_size = 64;
    m->fixed_target = -1;
    m->need_version = CJI_VERSION_FLOOR;
    m->need_targets = ~(cji_targets)0;
    m->owner = cji_ptx_owner(m, 0);
    if (cji_map_intern(&m->names, "", 0) == CJI_MAP_NONE)
        cji_ptx_nomem(m, "cj_ptx_create");
    return m;
}

static void free_function(cj_fn *f)
{
    cji_free(f->ins, f->cins * sizeof *f->ins);
    cji_free(f->reg, f->creg * sizeof *f->reg);
    cji_free(f->vreg, f->cvreg * sizeof *f->vreg);
    cji_free(f->lit, f->clit * sizeof *f->lit);
    cji_free(f->mem, f->cmem * sizeof *f->mem);
    cji_free(f->label, f->clabel * sizeof *f->label);
    cji_free(f->tlist, f->ctlist * sizeof *f->tlist);
    cji_free(f->pool, f->cpool * sizeof *f->pool);
    cji_free(f->param, f->cparam * sizeof *f->param);
    cji_free(f->result, f->cresult * sizeof *f->result);
    cji_free(f->var, f->cvar * sizeof *f->var);
    cji_free(f->pragma, f->cpragma * sizeof *f->pragma);
    cji_free(f->comment, f->ccomment * sizeof *f->comment);
    cji_free(f->remark, f->cremark);
    cji_free(f->text_line, f->ctext_line * sizeof *f->text_line);
    cji_free(f->lit_slot, f->nlit_slot * sizeof *f->lit_slot);
    cji_free(f->block, f->cblock * sizeof *f->block);
    cji_obj_delete(f, sizeof *f);
}

void cj_ptx_free(cj_ptx *m)
{
    if (!cji_check_free(m, CJI_TAG_PTX, "cj_ptx_free") || !cji_obj_release(m)) return;
    for (size_t i = 0; i < m->nfn; i++) free_function(m->fn[i]);
    cji_free(m->fn, m->cfn * sizeof *m->fn);
    cji_free(m->var, m->cvar * sizeof *m->var);
    cji_free(m->form, m->cform * sizeof *m->form);
    cji_free(m->form_slot, m->nform_slot * sizeof *m->form_slot);
    cji_free(m->word_slot, m->nword_slot * sizeof *m->word_slot);
    cji_free(m->scope, m->cscope * sizeof *m->scope);
    cji_free(m->pragma, m->cpragma * sizeof *m->pragma);
    cji_free(m->alias, m->calias * sizeof *m->alias);
    cji_free(m->longloc, m->clongloc * sizeof *m->longloc);
    cji_map_free(&m->names);
    cji_map_free(&m->files);
    cji_text_free(&m->text);
    cji_text_free(&m->debug_files);
    cji_text_free(&m->debug_sections);
    cji_arena_free(&m->arena);
    cji_kept_clear(&m->missing.err);
    m->bad.magic = m->missing.magic = 0;
    cji_obj_delete(m, sizeof *m);
}

/* Twenty bits that tell functions apart: unique in a module, and by chance (1 in a million) between modules. */
uint32_t cji_ptx_owner(const cj_ptx *m, size_t index)
{
    uint64_t p = (uintptr_t)m;
    return (uint32_t)((cji_hash(&p, sizeof p) + index) & 0xfffff);
}

/* The module changes: sections that say what is where in it are wrong from now on. */
static void drop_debug(cj_ptx *m, const char *call)
{
    m->frozen = m->debug = 0;
    cji_text_free(&m->debug_files);
    cji_text_free(&m->debug_sections);
    cji_log(CJ_LOG_WARNING, "%s changes a module with debug data: its debug sections and .target's debug are dropped",
            call);
}

int cj_ptx_has_debug(cj_ptx *m)
{
    return cji_check(m, CJI_TAG_PTX, __func__) == CJ_OK && m->debug;
}

bool cji_ptx_open_same(cj_ptx *m, const char *call)
{
    return cji_check(m, CJI_TAG_PTX, call) == CJ_OK && !m->dead && m->frozen == CJI_FROZEN_DEBUG ? true
                                                                                                : cji_ptx_open(m, call);
}

bool cji_ptx_open(cj_ptx *m, const char *call)
{
    if (cji_check(m, CJI_TAG_PTX, call) != CJ_OK || m->dead) return false;
    if (!m->frozen) return true;
    if (m->frozen == CJI_FROZEN_DEBUG) return drop_debug(m, call), true;
    cji_fail(m, CJ_ESTATE, call, "the module is loaded and frozen; change a cj_ptx_clone() of it");
    return false;
}

/* The same for the function's own calls, when the quick look at it (cji_fn_open) failed. */
bool cji_fn_open_slow(cj_fn *f, const char *call)
{
    return cji_check(f, CJI_TAG_FN, call) == CJ_OK && cji_ptx_open(f->m, call);
}

cj_fn *cji_ptx_bad(cj_ptx *m, const char *call)
{
    return cji_check(m, CJI_TAG_PTX, call) == CJ_OK ? (cj_fn *)&m->bad : (cj_fn *)&no_module;
}

cj_status cj_ptx_status(cj_ptx *m)
{
    cj_status s = cji_check(m, CJI_TAG_PTX, "cj_ptx_status");
    if (s != CJ_OK || !m->dead) return s;
    cj_error e;
    cji_err_get(m, &e);
    return (cj_status)e.status;
}

cj_ptx *cj_fn_module(cj_fn *f) { return cji_check(f, CJI_TAG_FN, "cj_fn_module") == CJ_OK ? f->m : NULL; }

/* Threads may share a module that is frozen: it is not written then. */
void cji_ptx_freeze(cj_ptx *m)
{
    if (m->frozen != CJI_FROZEN_LOADED) m->frozen = CJI_FROZEN_LOADED;
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

/* The column, from 1, of the place in a text that a failure is about; 0: not known. */
static unsigned column_of(const cj_ptx *m)
{
    unsigned column = 1;
    if (!m->text_at) return 0;
    for (const char *s = m->text_at; s > m->text_begin && s[-1] != '\n'; s--) column++;
    return column;
}

/* Puts "file:line: " or "file:line:column: " in front of the message, cutting the end of what gets too long. */
static void put_place(cj_error *e, const char *file, uint32_t line, unsigned column)
{
    char body[sizeof e->message];
    size_t n = strlen(file), cut = n >= sizeof e->file ? n - sizeof e->file + 1 : 0;
    memcpy(body, e->message, sizeof body);
    memcpy(e->file, file + cut, n - cut + 1);
    e->line = (int32_t)line;
    int at = snprintf(e->message, sizeof e->message, "%s:%u:", e->file, line);
    if (column) at += snprintf(e->message + at, sizeof e->message - (size_t)at, "%u:", column);
    at += snprintf(e->message + at, sizeof e->message - (size_t)at, " ");
    size_t room = sizeof e->message - (size_t)at, len = strlen(body);
    if (len >= room) len = room - 1;
    memcpy(e->message + at, body, len);
    e->message[(size_t)at + len] = 0;
}

cj_status cji_ptx_fail(cj_ptx *m, cj_status status, const char *call, uint32_t loc, const char *fmt, ...)
{
    cj_error e;
    va_list args;
    uint32_t line;
    va_start(args, fmt);
    cji_err_make(&e, status, call, fmt, args);
    va_end(args);
    const char *file = cji_ptx_where(m, loc, &line);
    if (*file) put_place(&e, file, line, column_of(m));
    m->dead = 1;
    return cji_fail_with(m, &e);
}

cj_status cji_ptx_nomem(cj_ptx *m, const char *call)
{
    return cji_ptx_fail(m, CJ_ENOMEM, call, 0, "%s: out of memory", call);
}

/* ---- Names and source places ------------------------------------------------------------------------------------- */

uint32_t cji_ptx_intern(cj_ptx *m, const char *s, size_t n)
{
    uint32_t i = cji_map_intern(&m->names, s, n);
    if (i != CJI_MAP_NONE) return i;
    cji_ptx_nomem(m, "cj_ptx");
    return 0;
}

uint32_t cji_ptx_file(cj_ptx *m, const char *s, size_t n)
{
    uint32_t i = m->files.n ? 0 : cji_map_intern(&m->files, "", 0); /* the first one is number 1 */
    if (i != CJI_MAP_NONE) i = cji_map_intern(&m->files, s, n);
    if (i != CJI_MAP_NONE) return i;
    cji_ptx_nomem(m, "cj_line");
    return 0;
}

/* A loc is file:9 | line:22 with the top bit clear, or, where that is too narrow, the top bit and an index into
 * longloc[]. */
enum { LINE_BITS = 22, LINE_MAX = (1 << LINE_BITS) - 1, FILE_MAX = 511 };

uint32_t cji_ptx_loc(cj_ptx *m, uint32_t file, uint32_t line)
{
    if (!file) return 0;
    if (file <= FILE_MAX && line <= LINE_MAX) return file << LINE_BITS | line;
    if (m->nlongloc && m->longloc[m->nlongloc - 1].file == file && m->longloc[m->nlongloc - 1].line == line)
        return 1u << 31 | (uint32_t)(m->nlongloc - 1);
    if (!cji_grow(&m->longloc, &m->clongloc, m->nlongloc + 1, sizeof *m->longloc))
        return cji_ptx_nomem(m, "cj_line"), 0;
    m->longloc[m->nlongloc] = (struct cji_longloc){ file, line };
    return 1u << 31 | (uint32_t)m->nlongloc++;
}

void cji_ptx_loc_split(const cj_ptx *m, uint32_t loc, uint32_t *file, uint32_t *line)
{
    bool wide = loc >> 31;
    const struct cji_longloc *l = wide ? &m->longloc[loc & 0x7fffffff] : NULL;
    *file = wide ? l->file : loc >> LINE_BITS;
    *line = wide ? l->line : loc & LINE_MAX;
}

const char *cji_ptx_where(const cj_ptx *m, uint32_t loc, uint32_t *line)
{
    uint32_t file;
    cji_ptx_loc_split(m, loc, &file, line);
    return file < m->files.n ? m->files.entry[file].key : "";
}

/* The loc of a call: `file` is a literal of the caller's, so the same pointer is the same name. */
static uint32_t here(cj_ptx *m, const char *file, int line)
{
    if (file == m->file_ptr && m->file_at <= FILE_MAX && line > 0 && line <= LINE_MAX)
        return m->file_at ? m->file_at << LINE_BITS | (uint32_t)line : 0;
    if (file != m->file_ptr) {
        m->file_at = file ? cji_ptx_file(m, file, strlen(file)) : 0;
        m->file_ptr = file;
    }
    return cji_ptx_loc(m, m->file_at, line > 0 ? (uint32_t)line : 0);
}

/* A live function of a module that would be open but for its debug data. */
static bool keeps_debug(const cj_fn *f)
{
    return f && f->obj.magic == CJI_MAGIC && f->obj.tag == CJI_TAG_FN && !(f->obj.flags & CJI_OBJ_FAILED) &&
           !f->m->dead && f->m->frozen == CJI_FROZEN_DEBUG;
}

cj_fn *cj_here(cj_fn *f, const char *file, int line)
{
    if ((cji_fn_is_open(f) || keeps_debug(f)) && !f->line_set) f->loc = here(f->m, file, line);
    return f;
}

cj_ptx *cj_here_ptx(cj_ptx *m, const char *file, int line)
{
    if (m && m->obj.magic == CJI_MAGIC && m->obj.tag == CJI_TAG_PTX && !(m->obj.flags & CJI_OBJ_FAILED) && !m->dead &&
        m->frozen != CJI_FROZEN_LOADED && !m->line_set)
        m->loc = here(m, file, line);
    return m;
}

void cj_line(cj_fn *f, const char *file, int line)
{
    if (!keeps_debug(f) && !cji_fn_open(f, __func__)) return;
    f->line_set = file != NULL;
    f->loc = file ? cji_ptx_loc(f->m, cji_ptx_file(f->m, file, strlen(file)), line > 0 ? (uint32_t)line : 0) : 0;
}

void cj_ptx_line(cj_ptx *m, const char *file, int line)
{
    if (!cji_ptx_open_same(m, __func__)) return;
    m->line_set = file != NULL;
    m->loc = file ? cji_ptx_loc(m, cji_ptx_file(m, file, strlen(file)), line > 0 ? (uint32_t)line : 0) : 0;
}

/* ---- Scope ------------------------------------------------------------------------------------------------------- */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_name_char(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '$'; }

bool cji_ptx_good_name(cj_ptx *m, const char *name, size_t len, const char *call, uint32_t loc)
{
    bool good =
        name && len > 0 && len < 1024 && (is_letter(name[0]) || ((name[0] == '_' || name[0] == '$') && len > 1));
    for (size_t i = 1; good && i < len; i++) good = is_name_char(name[i]);
    if (good) return true;
    cji_ptx_fail(m, CJ_EINVAL, call, loc, "%s: \"%s\" is not a PTX name: letters, digits, _ and $, not a digit first",
                 call, name ? cji_short_n(name, len) : "");
    return false;
}

uint32_t cji_ptx_lookup(const cj_ptx *m, const char *name, size_t len)
{
    uint32_t i = cji_map_find(&m->names, name, len);
    return i < m->cscope ? m->scope[i] : 0;
}

cj_fn *cji_ptx_find_fn(const cj_ptx *m, const char *name)
{
    uint32_t w = cji_ptx_lookup(m, name, strlen(name));
    return cji_word_kind(w) == CJI_K_FUNC ? m->fn[cji_word_index(w)] : NULL;
}

bool cji_ptx_enter(cj_ptx *m, uint32_t name, uint32_t word)
{
    size_t was = m->cscope;
    if (!cji_grow(&m->scope, &m->cscope, (size_t)name + 1, sizeof *m->scope)) return cji_ptx_nomem(m, "cj_ptx"), false;
    if (m->cscope > was) memset(m->scope + was, 0, (m->cscope - was) * sizeof *m->scope);
    m->scope[name] = word;
    return true;
}
