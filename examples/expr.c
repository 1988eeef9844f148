/* expr [--sum] [--repeat N] [--ptx] EXPRESSION FILE.csv
 *
 * Compiles EXPRESSION into a GPU kernel at run time, evaluates it over the columns of the file in
 * IEEE double precision, and prints the rows for which it is true, or each row with its value.
 * --sum prints one number: how many rows are true, or the sum.  --repeat N evaluates N copies of the
 * rows.  --ptx prints the kernel.  expr.h lists the parts.
 */
#include "expr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct options { bool sum, ptx; size_t repeat; const char *text, *path; } options;

static void usage(FILE *out)
{
    fputs("usage: expr [--sum] [--repeat N] [--ptx] EXPRESSION FILE.csv\n"
          "  EXPRESSION  numbers, columns, + - * / < <= > >= == != && || ! ?: ( ), and\n", out);
    expression_functions(out, "              ");
    fputs("  --sum       one number: how many rows are true, or the sum of the values\n"
          "  --repeat N  evaluates N copies of the rows\n"
          "  --ptx       prints the kernel\n", out);
}

static bool read_options(options *o, int argc, char **argv)
{
    *o = (options){ .repeat = 1 };
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--sum")) {
            o->sum = true;
        } else if (!strcmp(argv[i], "--ptx")) {
            o->ptx = true;
        } else if (!strcmp(argv[i], "--repeat") && i + 1 < argc) {
            char *end;
            unsigned long long n = strtoull(argv[++i], &end, 10);
            if (*end || n < 1 || n > 1u << 30)
                return fprintf(stderr, "expr: --repeat wants a number from 1 to 1073741824, not '%s'\n", argv[i]),
                       false;
            o->repeat = (size_t)n;
        } else if (!o->text) {
            o->text = argv[i];
        } else if (!o->path) {
            o->path = argv[i];
        } else {
            return usage(stderr), false;
        }
    }
    return o->path ? true : (usage(stderr), false);
}

/* -- On the device ------------------------------------------------------------------------------------------------- */

/* A column's `rows` numbers, `repeat` times over, in device memory: uploaded once, then doubled. */
static cj_dptr upload(cj_stream *s, const double *host, size_t rows, size_t repeat)
{
    size_t bytes = rows * sizeof *host, whole = bytes * repeat;
    cj_dptr d = cj_alloc(s, whole);
    cj_copy_to_device(s, d, host, bytes);
    for (size_t done = bytes; done < whole; done *= 2)
        cj_copy(s, cj_offset(d, (int64_t)done), d, done < whole - done ? done : whole - done);
    return d;
}

/* Evaluates the kernel over all columns into `result` (pinned, rows * repeat). */
static bool evaluate(cj_device *dev, cj_ptx *m, size_t ncolumns, double *const *columns, size_t rows, size_t repeat,
                     double *result)
{
    size_t n = rows * repeat;
    bool done = false;
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "expr", NULL);
    cj_dptr *d = calloc(ncolumns + 1, sizeof *d);
    cj_arg *arg = calloc(ncolumns + 2, sizeof *arg);
    if (d && arg) {
        d[0] = cj_alloc(s, n * sizeof(double));
        arg[0] = cj_arg_ptr(d[0]);
        for (size_t c = 0; c < ncolumns; c++) arg[c + 1] = cj_arg_ptr(d[c + 1] = upload(s, columns[c], rows, repeat));
        arg[ncolumns + 1] = cj_arg_u(n);
        cj_dims dims = cj_threads(n, 256);
        cj_launch_n(s, k, &dims, arg, ncolumns + 2);
        cj_copy_to_host(s, result, d[0], n * sizeof(double));
        done = cj_stream_sync(s) == CJ_OK;
        if (!done) fprintf(stderr, "expr: %s\n", cj_error_of(s)->message);
        for (size_t c = 0; c <= ncolumns; c++) cj_free(dev, d[c]);
    } else {
        fprintf(stderr, "expr: out of memory\n");
    }
    free(d);
    free(arg);
    cj_kernel_free(k);
    cj_stream_free(s);
    return done;
}

/* -- Output -------------------------------------------------------------------------------------------------------- */

static void print_row(const table *t, char *const *field)
{
    for (size_t c = 0; c < t->ncolumns; c++) {
        const char *s = field[c];
        if (c) putchar(',');
        if (!s[strcspn(s, ",\"\r\n")]) {
            fputs(s, stdout);
            continue;
        }
        putchar('"');
        for (; *s; s++) {
            if (*s == '"') putchar('"');
            putchar(*s);
        }
        putchar('"');
    }
}

/* The sum with the rounding errors of the additions collected apart (Neumaier). */
static double accurate_sum(const double *v, size_t n)
{
    double sum = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
        double next = sum + v[i];
        if (isfinite(next)) lost += fabs(sum) >= fabs(v[i]) ? (sum - next) + v[i] : (v[i] - next) + sum;
        sum = next;
    }
    return sum + lost;
}

static void print_result(const options *o, const table *t, const expression *e, const double *v)
{
    if (o->sum) {
        printf("%.17g\n", accurate_sum(v, t->nrows * o->repeat));
        return;
    }
    print_row(t, t->name);
    fputs(e->root->boolean ? "\n" : ",value\n", stdout);
    for (size_t r = 0; r < t->nrows; r++) {
        if (e->root->boolean && v[r] == 0) continue;
        print_row(t, &t->field[r * t->ncolumns]);
        if (e->root->boolean) putchar('\n');
        else printf(",%.17g\n", v[r]);
    }
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int run(const options *o, const table *t, const expression *e)
{
    int status = 1;
    size_t rows = t->nrows, n = rows * o->repeat;
    double begin = seconds();
    if (rows > SIZE_MAX / sizeof(double) / o->repeat)
        return fprintf(stderr, "expr: %zu copies of %zu rows are too many\n", o->repeat, rows), 1;
    double **columns = calloc(e->ncolumns + 1, sizeof *columns), *v = NULL;
    cj_ptx *m = expression_build(e);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    if (!columns) {
        fprintf(stderr, "expr: out of memory\n");
        goto out;
    }
    if (o->ptx) {
        const char *ptx;
        if (!cj_ptx_print(m, 0, &ptx, NULL)) fputs(ptx, stderr);
    }
    for (size_t c = 0; c < e->ncolumns; c++) {
        columns[c] = cj_host_alloc(dev, (rows ? rows : 1) * sizeof **columns, NULL);
        if (!columns[c]) goto no_memory;
        if (!table_numbers(t, o->path, e->column[c], columns[c])) goto out;
    }
    v = cj_host_alloc(dev, (n ? n : 1) * sizeof *v, NULL);
    if (!v) goto no_memory;
    if (n && !evaluate(dev, m, e->ncolumns, columns, rows, o->repeat, v)) goto out;
    print_result(o, t, e, v);
    fprintf(stderr, "expr: %zu rows on %s, %.0f ms with compiling\n", n, cj_device_name(dev),
            (seconds() - begin) * 1e3);
    status = 0;
    goto out;
no_memory:
    fprintf(stderr, "expr: %s\n", cj_error_of(dev)->message);
out:
    for (size_t c = 0; columns && c < e->ncolumns; c++) cj_host_free(dev, columns[c]);
    cj_host_free(dev, v);
    free(columns);
    cj_ptx_free(m);
    cj_device_close(dev);
    cj_driver_close(drv);
    return status;
}

int main(int argc, char **argv)
{
    options o;
    table t;
    expression e;
    if (argc > 1 && !strcmp(argv[1], "--help")) return usage(stdout), 0;
    if (!read_options(&o, argc, argv)) return 2;
    if (!table_read(&t, o.path)) return table_free(&t), 1;
    int status = expression_parse(&e, o.text, &t) ? run(&o, &t, &e) : 1;
    expression_free(&e);
    table_free(&t);
    if (fflush(stdout)) status = 1;
    return status;
}
