/* A variable of a module by name, with its size and type checked. */
#include "driver/driver.h"
#include "ptx/isa.h"

typedef struct module_var {
    cj_module *mod;
    const char *name;
    cj_type type;
    size_t count;
} module_var;

/* Elements of that type may be read as what is declared: the same type, or bits without a meaning of the same size.
 * Structures are declared as .b8. */
static bool var_type_fits(cj_type type, cj_type declared)
{
    const bool bits = (type >= CJ_B8 && type <= CJ_B64) || (declared >= CJ_B8 && declared <= CJ_B64);
    return type == declared || type == CJ_B8 || declared == CJ_B8 ||
           (bits && cji_type_bits(type) == cji_type_bits(declared));
}

static cj_status check_var_type(void *into, const module_var *v, const char *call)
{
    const cji_entry_var *e = cji_entries_var(v->mod->entries, v->name);
    if (!e) return CJ_OK;
    if (e->opaque)
        return cji_fail(into, CJ_EINVAL, call, "variable %s is a texture, sampler or surface, and has no value to copy",
                        cji_short(v->name));
    if (var_type_fits(v->type, e->type)) return CJ_OK;
    return cji_fail(into, CJ_EINVAL, call, "variable %s is .%s, and the call names .%s", cji_short(v->name),
                    cji_type_word(e->type), cji_type_word(v->type));
}

static cj_status check_var_size(void *into, const module_var *v, size_t bytes, const char *call)
{
    const size_t element = cji_type_bits(v->type) / 8;
    if (bytes % element == 0 && v->count == bytes / element) return CJ_OK;
    return cji_fail(into, CJ_EINVAL, call,
                    "variable %s has %zu bytes, and the call names %zu elements of %zu: "
                    "copy a part at an address of cj_module_var",
                    cji_short(v->name), bytes, v->count, element);
}

cj_status cji_module_var_typed(void *into, cj_module *mod, const char *name, cj_type type, size_t count,
                               cj_dptr *address, size_t *bytes, const char *call)
{
    const module_var v = { mod, name, type, count };
    if (!name) return cji_fail(into, CJ_EINVAL, call, "the name is NULL");
    if (type <= CJ_VOID || !cji_type_bits(type) || cji_type_bits(type) % 8)
        return cji_fail(into, CJ_EINVAL, call, "variable %s: %d is no cj_type that memory has", cji_short(name),
                        (int)type);
    cj_status st = check_var_type(into, &v, call);
    if (st != CJ_OK) return st;
    *address = cji_module_var(into, mod, name, bytes, call);
    return address->addr || *bytes ? check_var_size(into, &v, *bytes, call) : cji_err_latest();
}
