/* Profiles: made, on, off, cleared, freed. */
#include "base/handover.h"
#include "stream/profile/stream_profile.h"

void cj_profile_defaults(cj_profile_opts *opts)
{
    if (opts) *opts = (cj_profile_opts){ .size = sizeof *opts };
}

enum { PROFILE_RECORDS = 1 << 20 };

/* With the lock held: a number of its own. */
static uint32_t profile_turn(void)
{
    const uint32_t turn = ++cji_process.profiles.turns;
    return turn ? turn : profile_turn();
}

cj_profile *cj_profile_create(const cj_profile_opts *opts)
{
    static const char call[] = "cj_profile_create";
    cj_profile_opts o;
    cj_profile *p = cji_obj_new(sizeof *p, CJI_TAG_PROFILE, 0, call);
    if (cji_obj_failed(p)) return p;
    pthread_mutex_init(&p->report_lock, NULL);
    cj_profile_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, p, call, "cj_profile")) {
        cji_obj_set_failed(p);
        return p;
    }
    p->most = o.records ? o.records : PROFILE_RECORDS;
    cji_profiles_lock();
    p->turn = profile_turn();
    p->next = cji_process.profiles.all;
    cji_process.profiles.all = p;
    cji_profiles_unlock();
    return p;
}

/* With the lock held. */
static void profile_off_locked(cj_profile *p)
{
    bool any = false;
    for (unsigned i = 0; i < CJI_PROFILE_SLOTS; i++) {
        if (cji_process.profiles.on[i] == p) cji_process.profiles.on[i] = NULL;
        any |= cji_process.profiles.on[i] != NULL;
    }
    p->on = false;
    if (!any) atomic_store_explicit(&cji_process.work_hooks, NULL, memory_order_release);
}

void cj_profile_free(cj_profile *p)
{
    if (!cji_check_free(p, CJI_TAG_PROFILE, "cj_profile_free") || !cji_obj_release(p)) return;
    if (!cji_obj_failed(p)) {
        cji_profiles_lock();
        profile_off_locked(p);
        cj_profile **at = &cji_process.profiles.all;
        while (*at != p) at = &(*at)->next;
        *at = p->next;
        if (!cji_process.profiles.all) cji_map_free(&cji_process.profiles.names);
        cji_profiles_unlock();
        cji_profile_drop_entries(p);
    }
    cji_text_free(&p->report);
    pthread_mutex_destroy(&p->report_lock);
    cji_obj_delete(p, sizeof *p);
}

cj_status cj_profile_on(cj_profile *p)
{
    static const char call[] = "cj_profile_on";
    cj_status st = cji_check(p, CJI_TAG_PROFILE, call);
    if (st != CJ_OK) return st;
    cji_profiles_lock();
    unsigned i = 0;
    while (!p->on && i < CJI_PROFILE_SLOTS && cji_process.profiles.on[i]) i++;
    if (!p->on && i < CJI_PROFILE_SLOTS) {
        cji_process.profiles.on[i] = p;
        p->on = true;
        cji_handover_flag(&cji_process.work_hooks, sizeof cji_process.work_hooks);
        atomic_store_explicit(&cji_process.work_hooks, &cji_profile_hooks, memory_order_release);
    }
    const bool on = p->on;
    cji_profiles_unlock();
    return on ? CJ_OK : cji_fail(p, CJ_EBUSY, call, "%d profiles are on; turn one of them off", CJI_PROFILE_SLOTS);
}

cj_status cj_profile_off(cj_profile *p)
{
    cj_status st = cji_check(p, CJI_TAG_PROFILE, "cj_profile_off");
    if (st != CJ_OK) return st;
    cji_profiles_lock();
    profile_off_locked(p);
    cji_profiles_unlock();
    return CJ_OK;
}

cj_status cj_profile_clear(cj_profile *p)
{
    cj_status st = cji_check(p, CJI_TAG_PROFILE, "cj_profile_clear");
    if (st != CJ_OK) return st;
    cji_profiles_lock();
    cji_profile_drop_entries(p);
    p->turn = profile_turn();
    cji_profiles_unlock();
    return CJ_OK;
}
