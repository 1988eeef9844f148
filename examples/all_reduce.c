/* Loads, computes that need all of them, and one all-reduce at critical priority, on two devices (or
 * on one).  Each device loads shares of a table and computes its part of the result; the all-reduce
 * adds the parts on all devices. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum { LOADS = 6, COMPUTES = 4, N = 1 << 14, PARTS = 2 };

typedef struct place {
    cj_device *dev;
    cj_stream *home;
    cj_kernel *sums;
    cj_dptr table, part; /* all loads, one behind the other; the sums */
} place;

typedef struct step { place *at; int index; const float *h; } step;

static cj_status load(void *user, cj_stream *s)
{
    const step *l = user;
    return cj_copy_to_device(s, cj_offset(l->at->table, (int64_t)l->index * N * 4), l->h, N * sizeof(float));
}

/* part[i] = table[0][i] + table[1][i] + ..., for a share of the columns */
static cj_status compute(void *user, cj_stream *s)
{
    const step *k = user;
    const int64_t share = N / COMPUTES * 4;
    return cj_launch(s, k->at->sums, cj_threads(N / COMPUTES, 128), cj_offset(k->at->part, k->index * share),
                     cj_offset(k->at->table, k->index * share), N / COMPUTES);
}

static cj_ptx *make_sums(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "sums");
    cj_val to = cj_param_ptr(f, "to", CJ_F32), table = cj_param_ptr(f, "table", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_val sum = cj_let(f, CJ_F32, 0);
        for (int row = 0; row < LOADS; row++)
            cj_assign(f, sum, cj_add(f, sum, cj_get(f, table, cj_add(f, i, row * N))));
        cj_set(f, to, i, sum);
    cj_end(f);
    return m;
}

static float h[PARTS][LOADS][N], got[PARTS][N];

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: all_reduce\nLoads, computes that need all loads, and an all-reduce of the results."), 0;
    cj_ptx *m = make_sums();
    cj_driver *drv = cj_driver_open(NULL);
    const int devices = cj_device_count(drv) > 1 ? 2 : 1;
    place p[PARTS];
    step loads[PARTS][LOADS], computes[PARTS][COMPUTES];
    cj_part parts[PARTS];
    for (int i = 0; i < PARTS; i++) {
        p[i].dev = cj_device_open(drv, i < devices ? i : 0, NULL);
        p[i].home = cj_stream_create(p[i].dev, NULL);
        p[i].sums = cj_kernel_load(p[i].dev, m, "sums", NULL);
        p[i].table = cj_alloc(p[i].home, sizeof h[0]);
        p[i].part = cj_alloc(p[i].home, sizeof got[0]);
        parts[i] = (cj_part){ p[i].dev, p[i].part };
        if (cj_stream_sync(p[i].home) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_last()->message), 1;
        for (int l = 0; l < LOADS; l++)
            for (int k = 0; k < N; k++) h[i][l][k] = (float)((i + 1) * (l + 1) + k % 7);
    }

    cj_coord *c = cj_coord_create(p[0].dev, NULL);
    for (int i = 0; i < PARTS; i++) {
        for (int l = 0; l < LOADS; l++) {
            loads[i][l] = (step){ &p[i], l, h[i][l] };
            cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_TRANSFER, .what = "load", .device = p[i].dev, .run = load,
                                    .user = &loads[i][l],
                                    .writes = CJ_RANGES({ cj_offset(p[i].table, (int64_t)l * N * 4), N * 4 })));
        }
        for (int k = 0; k < COMPUTES; k++) {
            computes[i][k] = (step){ &p[i], k, NULL };
            cj_coord_add(c, CJ_TASK(.what = "compute", .device = p[i].dev, .run = compute, .user = &computes[i][k],
                                    .reads = CJ_RANGES({ p[i].table, sizeof h[0] }),
                                    .writes = CJ_RANGES({ cj_offset(p[i].part, k * (N / COMPUTES * 4)),
                                                          N / COMPUTES * 4 })));
        }
    }
    const cj_task all = cj_coord_all_reduce(c, CJ_COLLECTIVE(.what = "all-reduce", .type = CJ_F32, .op = CJ_REDUCE_SUM,
                                                             .count = N, .parts = { parts, PARTS }));
    if (!all || cj_coord_run(c, 10000) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(c)->message), 1;

    cj_task_info info;
    cj_task_info_defaults(&info);
    cj_coord_get_task(c, all, &info);
    int wrong = 0;
    for (int i = 0; i < PARTS; i++) {
        cj_copy_to_host(p[i].home, got[i], p[i].part, sizeof got[i]);
        if (cj_stream_sync(p[i].home) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_last()->message), 1;
        for (int k = 0; k < N; k++) {
            float want = 0;
            for (int q = 0; q < PARTS; q++)
                for (int l = 0; l < LOADS; l++) want += h[q][l][k];
            wrong += got[i][k] != want;
        }
    }
    printf("%d loads, %d computes, an all-reduce at %s on %s; %d of %d are wrong\n", PARTS * LOADS, PARTS * COMPUTES,
           cj_enum_name("cj_priority", info.priority), devices > 1 ? "two devices" : "one device", wrong, PARTS * N);

    cj_coord_free(c);
    for (int i = 0; i < PARTS; i++) {
        cj_free(p[i].dev, p[i].table);
        cj_free(p[i].dev, p[i].part);
        cj_kernel_free(p[i].sums);
        cj_stream_free(p[i].home);
        cj_device_close(p[i].dev);
    }
    cj_ptx_free(m);
    cj_driver_close(drv);
    return wrong != 0;
}
