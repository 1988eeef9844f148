/* What C has as inline functions is exported with pointers for other languages, and enums are known by name. */
#include <cujit/cujit.h>

#include <string.h>

#include "tests/tap.h"

static void dims(void)
{
    static const struct {
        uint64_t threads;
        uint32_t block;
    } rows[] = { { 0, 32 }, { 1, 32 }, { 32, 32 }, { 33, 32 }, { UINT64_MAX, 1 }, { 5, 0 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_dims d, same = cj_threads(rows[i].threads, rows[i].block);
        memset(&d, 0xff, sizeof d);
        cj_dims_threads(&d, rows[i].threads, rows[i].block);
        tap_ok(!memcmp(&d, &same, sizeof d), "cj_dims_threads is cj_threads: %zu", i);
    }
    cj_dims d, same = cj_dims_shared(cj_grid3(1, 2, 3, 4, 5, 6), 7);
    memset(&d, 0xff, sizeof d);
    cj_dims_set(&d, 1, 2, 3, 4, 5, 6);
    cj_dims_shared_set(&d, 7);
    tap_ok(!memcmp(&d, &same, sizeof d), "cj_dims_set and cj_dims_shared_set are cj_grid3 and cj_dims_shared");
    cj_dims_set(NULL, 1, 1, 1, 1, 1, 1);
    cj_dims_threads(NULL, 1, 1);
    cj_dims_shared_set(NULL, 1);
    tap_ok(!memcmp(&d, &same, sizeof d), "without dimensions nothing happens");
}

static void arguments(void)
{
    const cj_arg want[] = { cj_arg_i(-3),      cj_arg_u(UINT64_MAX),          cj_arg_f32(1.5f),
                            cj_arg_f64(-2.25), cj_arg_ptr((cj_dptr){ 4096 }), cj_arg_bytes(want, 24) };
    cj_arg got[6];
    memset(got, 0xff, sizeof got);
    for (int i = 0; i < 6; i++) got[i].v.u = 0;
    cj_arg_set_i(&got[0], -3);
    cj_arg_set_u(&got[1], UINT64_MAX);
    cj_arg_set_f32(&got[2], 1.5f);
    cj_arg_set_f64(&got[3], -2.25);
    cj_arg_set_ptr(&got[4], (cj_dptr){ 4096 });
    cj_arg_set_bytes(&got[5], want, 24);
    for (int i = 0; i < 6; i++)
        tap_ok(got[i].kind == want[i].kind && got[i].size == want[i].size && got[i].v.u == want[i].v.u,
               "argument %d is that of the inline function", i);
    cj_arg_set_i(NULL, 1), cj_arg_set_u(NULL, 1), cj_arg_set_f32(NULL, 1), cj_arg_set_f64(NULL, 1),
        cj_arg_set_ptr(NULL, (cj_dptr){ 1 }), cj_arg_set_bytes(NULL, "", 1);
    tap_is_int((int)got[0].kind, CJ_ARG_I, "without an argument nothing happens");
}

static void enums(void)
{
    static const struct { const char *type; int64_t value; const char *name;
    } rows[] = {
        { "cj_type", CJ_F32, "CJ_F32" },
        { "cj_status", CJ_ETIMEOUT, "CJ_ETIMEOUT" },
        { "cj_dim", CJ_Z, "CJ_Z" },
        { "cj_status", CJ_OK, "CJ_OK" },
        { "cj_fault_kind", CJ_FAULT_WORK, "CJ_FAULT_WORK" },
        { "", CJ_ERROR_BYTES, "CJ_ERROR_BYTES" },
        { "", CJ_OPT_NONE, "CJ_OPT_NONE" },
        { "cj_log_level", CJ_LOG_DEBUG, "CJ_LOG_DEBUG" },
    };
    int64_t value;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tap_is_str(cj_enum_name(rows[i].type, rows[i].value), rows[i].name, "the name of %s", rows[i].name);
        value = 12345;
        tap_is_int(cj_enum_value(rows[i].type, rows[i].name, &value), CJ_OK, "%s is known", rows[i].name);
        tap_is_int((int)value, (int)rows[i].value, "the value of %s", rows[i].name);
    }
    tap_is_int(cj_enum_value("cj_type", "CJ_F64", NULL), CJ_OK, "a value that is not wanted");
    tap_ok(!cj_enum_name("cj_type", 1000) && !cj_enum_name("cj_nothing", 0) && !cj_enum_name(NULL, 0),
           "no such value, no such enum");
    tap_is_int(cj_enum_value("cj_type", "CJ_F31", &value), CJ_ENOTFOUND, "no such name");
    tap_is_str(cj_error_last()->message, "cj_enum_value: cj_type has no value \"CJ_F31\"", "is named");
    tap_is_int(cj_enum_value("cj_typ", "CJ_F32", &value), CJ_ENOTFOUND, "no such enum");
    tap_is_str(cj_error_last()->message, "cj_enum_value: no public enum is called \"cj_typ\"", "is named");
    tap_is_int(cj_enum_value(NULL, "CJ_F32", &value), CJ_EINVAL, "no type");
    tap_is_int(cj_enum_value("cj_type", NULL, &value), CJ_EINVAL, "no name");
}

int main(void)
{
    tap_plan(0);
    dims();
    arguments();
    enums();
    return tap_done();
}
