/* Decoded forms that the modules of a process share: each is what the table gives, whichever thread decodes it first,
 * and a module has the forms for which the process has no place too. */
#include "ptx/isa.h"
#include "../tap.h"

#include <pthread.h>
#include <string.h>

#include <cujit/cujit.h>

enum { THREADS = 4, FORMS = 2000, EVERY = 1237 };

static bool same(const cji_isa_form *a, const cji_isa_form *b)
{
    return a->form == b->form && a->next == b->next && a->row == b->row && a->op == b->op && a->effect == b->effect &&
           a->version == b->version && a->targets == b->targets && a->nopnd == b->nopnd && a->nwords == b->nwords &&
           a->len == b->len && !memcmp(a->text, b->text, a->len + 1u) &&
           !memcmp(a->opnd, b->opnd, a->nopnd * sizeof *a->opnd) &&
           !memcmp(a->word, b->word, a->nwords * sizeof *a->word);
}

typedef struct asker { pthread_t thread; int wrong, shared; } asker;

/* The i-th of some forms, all over the table. */
static uint32_t form_at(uint32_t i) { return (uint32_t)((uint64_t)i * EVERY % cji_isa_forms()); }

static void *ask(void *user)
{
    asker *a = user;
    for (uint32_t i = 0; i < FORMS; i++) {
        cji_isa_form own;
        const cji_isa_form *f = cji_isa_shared(form_at(i));
        if (!f) continue;
        a->shared++;
        if (!cji_isa_get(form_at(i), &own) || !same(f, &own)) a->wrong++;
    }
    return NULL;
}

/* Conversions of one register, one of each form, more than the process has places for; how many. */
static int instructions_of(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val v[4] = { cj_reg(f, CJ_F32), cj_reg(f, CJ_F32), cj_reg(f, CJ_F32), cj_reg(f, CJ_F32) };
    int n = 0;
    for (uint32_t form = 0; form < cji_isa_forms() && n < 1000; form++) {
        cji_isa_form e;
        cji_isa_get(form, &e);
        bool fits = e.nopnd == 2 && e.next == CJI_FORM_NONE && !e.end_version && !strncmp(e.text, "cvt.", 4);
        for (unsigned i = 0; fits && i < 2; i++) fits = e.opnd[i].kinds >> CJI_K_REG & 1 && !e.opnd[i].count;
        if (!fits) continue;
        for (unsigned i = 0; i < 2; i++) {
            unsigned t = 1;
            while (!(e.opnd[i].types >> t & 1)) t++;
            v[i] = cj_reg(f, (cj_type)t);
        }
        cj_ins_n(f, e.text, v, 2);
        n++;
    }
    return n;
}

int main(void)
{
    static asker a[THREADS];
    const char *text = "", *copy = "";
    size_t bytes = 0, copied = 0, lines = 0;
    tap_plan(0);
    for (int i = 0; i < THREADS; i++) pthread_create(&a[i].thread, NULL, ask, &a[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(a[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        tap_is_int(a[i].wrong, 0, "thread %d: shared forms are those of the table", i);
        tap_ok(a[i].shared > 0, "  and there are some");
    }
    tap_ok(cji_isa_shared(form_at(0)) == cji_isa_shared(form_at(0)), "the same form is one object");
    tap_ok(!cji_isa_shared(cji_isa_forms()), "past the end of the table there is none");
    int without = 0;
    for (uint32_t i = 0; i < FORMS; i++) without += !cji_isa_shared(form_at(i));
    tap_ok(without > 0, "there are fewer places than forms");

    cj_ptx *m = cj_ptx_create();
    cj_ptx_set_target(m, "sm_100a");
    int n = instructions_of(m);
    tap_is_int(cj_ptx_print(m, 0, &text, &bytes), CJ_OK, "a module of %d forms: %s", n, cj_error_of(m)->message);
    for (const char *s = text; (s = strstr(s, "\tcvt.")); s++) lines++;
    tap_is_int((int)lines, n, "  has them all");
    tap_ok(n > 600, "  and they are more than there are places");
    cj_ptx *c = cj_ptx_clone(m);
    cj_ptx_print(c, 0, &copy, &copied);
    tap_is_str(copy, text, "  and its copy too");
    cj_ptx_free(m);
    tap_ok(!strncmp(copy, ".version", 8) && cj_ptx_print(c, 0, &copy, &copied) == CJ_OK && copied == bytes,
           "  which does not need the first one");
    cj_ptx_free(c);
    return tap_done();
}
