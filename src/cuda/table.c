/* symbols.def and errors.def as data, and look-ups in them. */
#include "cuda/table.h"

#include <stdio.h>
#include <string.h>

#define REQUIRED 1
#define OPTIONAL 0
#define TABLE_PARAM(T, a) { #T, #a },
const cji_cu_row cji_cu_rows[CJI_CU_COUNT] = {
#define CU(name, export, version, need, count, list) \
    { #name, #export, version, need, count, { CJI_CU_EACH(count, TABLE_PARAM, list){ NULL, NULL } } },
#include "cuda/symbols.def"
};
#undef TABLE_PARAM
#undef REQUIRED
#undef OPTIONAL

static const struct { int code; const char *name, *text; } result_rows[] = {
#define CUE(name, value, text) { value, #name, text },
#include "cuda/errors.def"
};

/* First drivers (Linux) of each CUDA version: CUDA release notes, "CUDA toolkit and corresponding driver versions". */
static const struct { int cuda, driver;
} branches[] = {
    { 13010, 590 }, { 13000, 580 }, { 12090, 575 }, { 12080, 570 }, { 12070, 565 }, { 12060, 560 },
    { 12050, 555 }, { 12040, 550 }, { 12030, 545 }, { 12020, 535 }, { 12010, 530 }, { 12000, 525 },
    { 11080, 520 }, { 11070, 515 }, { 11060, 510 }, { 11050, 495 }, { 11040, 470 }, { 11030, 465 },
    { 11020, 460 }, { 11010, 455 }, { 11000, 450 }, { 10020, 440 }, { 10010, 418 }, { 10000, 410 },
};

int cji_cu_find_export(const char *symbol)
{
    for (int i = 0; i < CJI_CU_COUNT; i++)
        if (strcmp(cji_cu_rows[i].export_name, symbol) == 0) return i;
    return -1;
}

/* Length of an exported symbol without its _vN. */
static size_t api_length(const char *symbol)
{
    size_t n = strlen(symbol);
    if (n > 3 && symbol[n - 3] == '_' && symbol[n - 2] == 'v' && symbol[n - 1] >= '0' && symbol[n - 1] <= '9') n -= 3;
    return n;
}

void cji_cu_api_name(const cji_cu_row *row, char *out, size_t size)
{
    snprintf(out, size, "%.*s", (int)api_length(row->export_name), row->export_name);
}

int cji_cu_find_api(const char *name, int version, bool *known)
{
    size_t n = strlen(name);
    int best = -1;
    *known = false;
    for (int i = 0; i < CJI_CU_COUNT; i++) {
        const cji_cu_row *r = &cji_cu_rows[i];
        if (api_length(r->export_name) != n || memcmp(r->export_name, name, n) != 0) continue;
        *known = true;
        if (r->version <= version && (best < 0 || r->version > cji_cu_rows[best].version)) best = i;
    }
    return best;
}

static int find_result(int code)
{
    for (size_t i = 0; i < sizeof result_rows / sizeof *result_rows; i++)
        if (result_rows[i].code == code) return (int)i;
    return -1;
}

const char *cji_cu_error_name(int code)
{
    int i = find_result(code);
    return i < 0 ? NULL : result_rows[i].name;
}

const char *cji_cu_error_text(int code)
{
    int i = find_result(code);
    return i < 0 ? NULL : result_rows[i].text;
}

int cji_cu_driver_branch(int cuda_version)
{
    int oldest = 410;
    /* later releases are taken to continue in step: 5 a minor version */
    if (cuda_version > branches[0].cuda) return branches[0].driver + (cuda_version - branches[0].cuda) / 10 * 5;
    for (size_t i = 0; i < sizeof branches / sizeof *branches; i++)
        if (branches[i].cuda >= cuda_version) oldest = branches[i].driver;
    return oldest;
}
