/* A file through the device in chunks: one chunk is read and uploaded while the one before is
 * encrypted and the one before that is downloaded and written.  A progress bar, what took how long,
 * and on request the timeline: a picture for .svg, else a trace for https://ui.perfetto.dev. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 32 << 10, DEMO_BYTES = 200001 };

typedef struct job { FILE *in, *out; cj_kernel *k; uint32_t key; } job;

/* y[i] = x[i] ^ a hash of key and position: the same call decrypts. */
static cj_ptx *build(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "encrypt");
    cj_val x = cj_param_ptr(f, "x", CJ_U8), y = cj_param_ptr(f, "y", CJ_U8), n = cj_param(f, "n", CJ_U32);
    cj_val key = cj_param(f, "key", CJ_U32), first = cj_param(f, "first", CJ_U32);
    cj_val i = cj_for(f, cj_global_id(f, CJ_X), n, cj_global_size(f, CJ_X));
        cj_val h = cj_mul(f, cj_xor(f, cj_add(f, first, i), key), 0x9e3779b1u);
        h = cj_mul(f, cj_xor(f, h, cj_shr(f, h, 15)), 0x85ebca77u);
        cj_set(f, y, i, cj_xor(f, cj_cvt(f, CJ_U16, cj_get(f, x, i)), cj_cvt(f, CJ_U16, cj_shr(f, h, 24))));
    cj_end(f);
    return m;
}

static cj_status read_file(void *user, cj_chunk *c)
{
    job *j = user;
    return fread(c->in_host, 1, c->in_bytes, j->in) == c->in_bytes ? CJ_OK : CJ_ENOTFOUND;
}

static cj_status encrypt(void *user, cj_chunk *c)
{
    job *j = user;
    uint32_t n = (uint32_t)c->in_bytes;
    return cj_launch(c->stream, j->k, cj_threads(n, 256), c->in, c->out, n, j->key, (uint32_t)c->offset);
}

static cj_status write_file(void *user, cj_chunk *c)
{
    job *j = user;
    return fwrite(c->out_host, 1, c->out_bytes, j->out) == c->out_bytes ? CJ_OK : CJ_ENOTFOUND;
}

/* On a terminal. */
static int bar(void *user, uint64_t done, uint64_t all)
{
    static const char full[] = "########################################";
    (void)user;
    if (isatty(2)) fprintf(stderr, "\r[%-40.*s] %3d%%%s", (int)(40 * done / all), full, (int)(100 * done / all),
                           done == all ? "\n" : "");
    return 0; /* another value cancels */
}

/* The file `in` to the file `out`; returns 1 on failure. */
static int pass(cj_device *dev, job *j, FILE *in, FILE *out, cj_pipeline_stats *stats)
{
    fseek(in, 0, SEEK_END);
    uint64_t bytes = (uint64_t)ftell(in);
    rewind(in);
    j->in = in, j->out = out;
    cj_pipeline_stats_defaults(stats);
    cj_status st = cj_pipeline_run(dev, CJ_PIPELINE(.bytes = bytes, .chunk = CHUNK, .fill = read_file,
                                                    .launch = encrypt, .drain = write_file, .progress = bar,
                                                    .user = j), stats);
    fflush(out);
    return st == CJ_OK ? 0 : (fprintf(stderr, "pipeline_file: %s\n", cj_error_of(dev)->message), 1);
}

/* Without arguments: a file of its own is encrypted and decrypted again. */
static int demo(cj_device *dev, job *j, cj_pipeline_stats *stats)
{
    static char text[DEMO_BYTES], again[DEMO_BYTES];
    FILE *plain = tmpfile(), *secret = tmpfile(), *back = tmpfile();
    int same = 0, differ = 0;
    if (!plain || !secret || !back) return fprintf(stderr, "pipeline_file: no temporary file\n"), 1;
    for (int i = 0; i < DEMO_BYTES; i++) text[i] = "the quick brown fox jumps over the lazy dog\n"[i % 44];
    fwrite(text, 1, sizeof text, plain);
    int status = pass(dev, j, plain, secret, stats) || pass(dev, j, secret, back, stats);
    rewind(secret), rewind(back);
    if (!status && fread(again, 1, sizeof again, secret) == sizeof again)
        for (int i = 0; i < DEMO_BYTES; i++) differ += again[i] != text[i];
    if (!status && fread(again, 1, sizeof again, back) == sizeof again) same = !memcmp(text, again, sizeof text);
    fclose(plain), fclose(secret), fclose(back);
    if (status) return 1;
    printf("%d bytes in %d chunks, encrypted and back: %s, %s\n", DEMO_BYTES, (int)stats->chunks,
           differ > DEMO_BYTES / 2 ? "unreadable" : "readable", same ? "the same again" : "not the same");
    return !same;
}

static void report(const cj_pipeline_stats *s)
{
    const char *slowest = cj_enum_name("cj_pipeline_stage", s->slowest);
    fprintf(stderr, "%.3f s: fill %.3f, upload %.3f, compute %.3f, download %.3f, drain %.3f; slowest is %s\n",
            s->seconds, s->fill, s->upload, s->compute, s->download, s->drain, slowest ? slowest : "none");
    fprintf(stderr, "%u buffers, %s, efficiency %.2f\n", s->depth, s->overlap ? "overlapped" : "not overlapped",
            s->efficiency);
}

/* The file names[0] to the file names[1]. */
static int files(cj_device *dev, job *j, char **names, cj_pipeline_stats *stats)
{
    FILE *in = fopen(names[0], "rb"), *out = in ? fopen(names[1], "wb") : NULL;
    int status = 1;
    if (!out) fprintf(stderr, "pipeline_file: %s cannot be opened\n", names[in != NULL]);
    else status = pass(dev, j, in, out, stats);
    if (!status) report(stats);
    if (in) fclose(in);
    return (out && fclose(out)) || status;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: pipeline_file [KEY IN OUT [TIMELINE]]\n"
                    "Encrypts the file IN into the file OUT on the device, in chunks; once more decrypts.\n"
                    "What the streams did, and when, is written to the file TIMELINE.\n"
                    "Without arguments it encrypts and decrypts a file of its own."), 0;
    if (argc != 1 && argc != 4 && argc != 5)
        return fprintf(stderr, "usage: pipeline_file [KEY IN OUT [TIMELINE]]\n"), 2;
    cj_pipeline_stats stats;
    cj_ptx *m = build();
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    job j = { .k = cj_kernel_load(dev, m, "encrypt", NULL), .key = 42 };
    if (argc > 1) j.key = (uint32_t)strtoul(argv[1], NULL, 0);
    cj_profile *profile = cj_profile_create(NULL);
    if (argc == 5) cj_profile_on(profile);
    int status = 1;
    if (cj_error_of(j.k)->status) fprintf(stderr, "pipeline_file: %s\n", cj_error_of(j.k)->message);
    else status = argc == 1 ? demo(dev, &j, &stats) : files(dev, &j, argv + 2, &stats);
    if (argc == 5 && !status && cj_profile_write(profile, argv[4]) != CJ_OK)
        status = (fprintf(stderr, "pipeline_file: %s\n", cj_error_of(profile)->message), 1);
    cj_profile_free(profile);
    cj_kernel_free(j.k);
    cj_ptx_free(m);
    cj_device_close(dev);
    cj_driver_close(drv);
    return status;
}
