/* The file of limits, numbers, the driver's own entry points: for all bench programs. */
#include "bench/judge.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool bench_limit_find(const char *program, const char *file, const char *metric, bench_limit *out)
{
    char line[200], name[100], word[16];
    FILE *f = fopen(file, "r");
    *out = (bench_limit){ .known = false };
    if (!f) {
        fprintf(stderr, "%s: the limits in %s cannot be read\n", program, file);
        return false;
    }
    while (fgets(line, sizeof line, f) && !out->known) {
        const int n = *line == '#' ? 0 : sscanf(line, "%99s %lf %15s", name, &out->value, word);
        out->known = n >= 2 && !strcmp(name, metric);
        out->least = out->known && n == 3 && !strcmp(word, "least");
    }
    fclose(f);
    return true;
}

bool bench_limit_holds(const char *program, const char *metric, const bench_limit *limit, double value)
{
    if (!limit->known || (limit->least ? value >= limit->value : value <= limit->value)) return true;
    fprintf(stderr, "%s: %s is %.6g, the limit is %s %g\n", program, metric, value,
            limit->least ? "at least" : "at most", limit->value);
    return false;
}

static int bench_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_sort(double *value, size_t n) { qsort(value, n, sizeof *value, bench_ascending); }

double bench_median(double *value, size_t n)
{
    bench_sort(value, n);
    return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

void *bench_load_driver(const char *program, const char *path, cji_cu *cu)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL), *p;
    if (!lib) return fprintf(stderr, "%s: %s\n", program, dlerror()), NULL;
#define CU(name, export, version, need, count, list) \
    p = dlsym(lib, #export);                         \
    memcpy(&cu->name, &p, sizeof p);
#include "cuda/symbols.def"
    return lib;
}
