/* function_texts f32, function_texts f64: prints a module that has each function of src/ptx/math of that type as a
 * .func g_<name>, for instructions.sh to count.  What a function calls are .func cj_math_... of the module.  Second
 * results go through pointers, both of sincos and sincospi, as CUDA's functions have it.
 *
 * function_texts forms: prints the name of each part that is a function of the module unless the caller chooses. */
#include <stdio.h>
#include <string.h>

#include <cujit/cujit.h>

#include "ptx/math/math.h"

static const struct { const char *name; cji_math_part part; } all[] = {
#define PART(name, results, arguments, form) { #name, CJI_MATH_##name },
#include "ptx/math/parts.def"
#undef PART
};

static cj_type register_of(char letter) { return letter == 'D' || letter == 'W' ? CJ_B64 : CJ_B32; }

static void write_function(cj_ptx *p, const char *name, cji_math_part part)
{
    const char *letters = cji_math_results(part), *kinds = cji_math_arguments(part);
    const bool through_pointers = letters[1] && !strncmp(name, "g_sincos", 8);
    char word[3] = "a0";
    cj_val a[CJI_MATH_ARGS], r[CJI_MATH_ARGS], out[CJI_MATH_ARGS];
    cj_fn *f = cj_ptx_func(p, name);
    for (int i = 0; kinds[i]; i++) {
        word[1] = (char)('0' + i);
        a[i] = cj_param(f, word, register_of(kinds[i]));
    }
    for (int i = 0; letters[i]; i++) {
        const bool stored = i || through_pointers;
        word[0] = stored ? 'p' : 'r';
        word[1] = (char)('0' + i);
        out[i] = stored ? cj_param(f, word, CJ_U64) : cj_result(f, word, register_of(letters[i]));
    }
    cji_math m = cji_math_begin(f, "function_texts");
    m.codes[part].body(&m, a, r);
    for (int i = 0; letters[i]; i++) {
        const cj_val v[2] = { cj_mem(f, out[i], 0), r[i] };
        if (i || through_pointers) cj_ins_n(f, register_of(letters[i]) == CJ_B64 ? "st.b64" : "st.b32", v, 2);
        else cj_assign(f, out[i], r[i]);
    }
}

static void print_forms(void)
{
    const cji_math m = cji_math_begin(NULL, NULL);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (m.codes[all[i].part].form == CJ_MATH_CALLED) puts(all[i].name);
}

int main(int argc, char **argv)
{
    const char *text, *type = argc > 1 ? argv[1] : "f64";
    if (!strcmp(type, "forms")) return print_forms(), 0;
    cj_ptx *p = cj_ptx_create();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char name[64];
        const char *end = strrchr(all[i].name, '_');
        if (strcmp(end + 1, type)) continue;
        snprintf(name, sizeof name, "g_%.*s", (int)(end - all[i].name), all[i].name);
        write_function(p, name, all[i].part);
    }
    if (cj_ptx_print(p, 0, &text, NULL)) {
        fprintf(stderr, "%s\n", cj_error_of(p)->message);
        return 1;
    }
    fputs(text, stdout);
    cj_ptx_free(p);
    return 0;
}
