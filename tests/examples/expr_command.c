/* The example expr as its user sees it: values against this program's own arithmetic on the same rows, rows that a
 * condition selects, sums, copies, and what it says about mistakes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/tap_run.h"

enum { MAX_ROWS = 400 };
static double lat[MAX_ROWS], lon[MAX_ROWS];
static char *row[MAX_ROWS];
static int nrows;
static const char *places;

static void read_places(void)
{
    char *text = tap_slurp(places, NULL), *line = text ? strtok(text, "\n") : NULL;
    if (!text) tap_bail("no %s", places);
    while ((line = strtok(NULL, "\n")) && nrows < MAX_ROWS) {
        char *last = strrchr(line, ','), *before = last - 1;
        while (*before != ',') before--;
        lat[nrows] = atof(before + 1);
        lon[nrows] = atof(last + 1);
        row[nrows++] = strdup(line);
    }
    free(text);
}

static void run(tap_result *r, const char *a, const char *b, const char *c, const char *d, const char *e)
{
    const char *argv[] = { tap_build("examples/expr"), a, b, c, d, e, NULL };
    tap_run(r, argv, NULL);
}

/* -- Values -------------------------------------------------------------------------------------------------------- */

static double v_line(double x, double y) { return 2 * x + y / 3 - 1; }
static double v_nested(double x, double y) { return -(x - y) * (x + y) / (1 + x * x); }
static double v_minmax(double x, double y) { return fmin(x, y) * fmax(fabs(x), 10) - floor(x) + ceil(y); }
static double v_choice(double x, double y) { return x > 0 && !(y < 0) ? sqrt(x) : x < -20 || y == 0 ? y : 0.1; }
static double v_sqrt(double x, double y) { return sqrt(x * x + y); }
static double v_divide(double x, double y) { return 1 / x / y; }

static const struct value_case { const char *text; double (*same)(double, double); } values[] = {
    { "2*lat + lon/3 - 1", v_line },
    { "-(lat - lon) * (lat + lon) / (1 + lat*lat)", v_nested },
    { "min(lat, lon) * max(abs(lat), 10) - floor(lat) + ceil(lon)", v_minmax },
    { "lat > 0 && !(lon < 0) ? sqrt(lat) : lat < -20 || lon == 0 ? lon : 0.1", v_choice },
    { "sqrt(lat*lat + lon)", v_sqrt },
    { "1/lat/lon", v_divide },
};

static void values_are_exact(void)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        tap_result r;
        run(&r, values[i].text, places, NULL, NULL, NULL);
        int wrong = 0, seen = 0;
        char *line = r.out ? strtok(r.out, "\n") : NULL;
        for (; (line = line ? strtok(NULL, "\n") : NULL); seen++) {
            double got = atof(strrchr(line, ',') + 1), want = seen < nrows ? values[i].same(lat[seen], lon[seen]) : 0;
            if (got != want && !(isnan(got) && isnan(want)) && !wrong++)
                tap_diag("row %d: %.17g, wants %.17g", seen, got, want);
        }
        tap_ok(r.status == 0 && wrong == 0 && seen == nrows, "%s", values[i].text);
        if (r.status) tap_diag("%s", r.err);
        tap_result_free(&r);
    }
}

/* -- Functions of cujit/math.h: near the C library's -------------------------------------------------------------- */

static double m_powers(double x, double y)
{
    return exp(x / 30) * log(fabs(y) + 2) + pow(fabs(x) + 1, 1.5) - exp2(y / 50);
}
static double m_angles(double x, double y) { return sin(x) * cos(y) + atan2(x, y) - tan(x / 100) + asin(x / 90); }
static double m_distance(double x, double y)
{
    const double rad = 0.017453292519943295;
    return 6371 * acos(sin(x * rad) * sin(48 * rad) + cos(x * rad) * cos(48 * rad) * cos(y * rad));
}
static double m_others(double x, double y)
{
    return tanh(x / 9) + erf(y / 99) + tgamma(fabs(x) / 10 + 1) + cbrt(x) + fmod(y, 7) + round(x) + hypot(x, y);
}

static const struct value_case functions[] = {
    { "exp(lat / 30) * log(abs(lon) + 2) + pow(abs(lat) + 1, 1.5) - exp2(lon / 50)", m_powers },
    { "sin(lat) * cos(lon) + atan2(lat, lon) - tan(lat / 100) + asin(lat / 90)", m_angles },
    { "6371 * acos(sin(lat * 0.017453292519943295) * sin(48 * 0.017453292519943295) + "
      "cos(lat * 0.017453292519943295) * cos(48 * 0.017453292519943295) * cos(lon * 0.017453292519943295))",
      m_distance },
    { "tanh(lat / 9) + erf(lon / 99) + tgamma(abs(lat) / 10 + 1) + cbrt(lat) + fmod(lon, 7) + round(lat) + "
      "hypot(lat, lon)", m_others },
};

static void functions_are_near(void)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        tap_result r;
        run(&r, functions[i].text, places, NULL, NULL, NULL);
        double worst = 0;
        int seen = 0;
        char *line = r.out ? strtok(r.out, "\n") : NULL;
        for (; (line = line ? strtok(NULL, "\n") : NULL) && seen < nrows; seen++) {
            const double got = atof(strrchr(line, ',') + 1), want = functions[i].same(lat[seen], lon[seen]);
            const double off = fabs(got - want) / fmax(1, fabs(want));
            if (worst == worst && !(off <= worst)) worst = off; /* NaN stays */
        }
        tap_ok(r.status == 0 && worst < 1e-13 && seen == nrows, "%s: %g off", functions[i].text, worst);
        if (r.status) tap_diag("%s", r.err);
        tap_result_free(&r);
    }
}

/* -- Conditions, sums, copies -------------------------------------------------------------------------------------- */

static bool c_near(double x, double y) { return hypot(x - 48.2, y - 16.4) < 3; }
static bool c_far(double x, double y) { return (x < -40 || x > 65) && y != 0; }
static bool c_nan(double x, double y) { return !(sqrt(x) >= 0) && sqrt(x) != y; }

static const struct condition_case { const char *text; bool (*same)(double, double); } conditions[] = {
    { "hypot(lat - 48.2, lon - 16.4) < 3", c_near },
    { "(lat < -40 || lat > 65) && lon != 0", c_far },
    { "!(sqrt(lat) >= 0) && sqrt(lat) != lon", c_nan },
};

static void conditions_select_rows(void)
{
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        tap_result r;
        char want[40000] = "place,region,country,lat,lon\n", expected[16];
        int count = 0;
        for (int j = 0; j < nrows; j++)
            if (conditions[i].same(lat[j], lon[j])) strcat(strcat(want, row[j]), "\n"), count++;
        run(&r, conditions[i].text, places, NULL, NULL, NULL);
        tap_is_str(r.out, want, "rows where %s", conditions[i].text);
        tap_result_free(&r);
        snprintf(expected, sizeof expected, "%d\n", 7 * count);
        run(&r, "--sum", "--repeat", "7", conditions[i].text, places);
        tap_is_str(r.out, expected, "how many they are in 7 copies");
        tap_result_free(&r);
    }
}

static void sums_are_accurate(void)
{
    long double want = 0;
    tap_result r;
    for (int j = 0; j < nrows; j++) want += (long double)(lat[j] * 1e10) + 1;
    run(&r, "--sum", "--repeat", "100", "lat * 1e10 + 1", places);
    double got = r.out ? atof(r.out) : 0, exact = (double)(100 * want);
    tap_ok(r.status == 0 && fabs(got - exact) <= fabs(exact) * 1e-12, "a sum over 100 copies");
    if (r.status) tap_diag("%s", r.err);
    tap_result_free(&r);
}

/* -- Mistakes ------------------------------------------------------------------------------------------------------ */

static const struct mistake { const char *text, *csv, *says; } mistakes[] = {
    { "lat +", NULL, "           ^ the expression ends where a number, a column or a '(' should follow" },
    { "lat * (lon - 1", NULL, "^ a ')' is missing here, to close the '(' of column 7" },
    { "lat ** 2", NULL, "           ^ a number, a column or a '(' should stand here" },
    { "lat lon", NULL, "          ^ an operator or the end should stand here" },
    { "lat = 3", NULL, "one '=' compares nothing here, '==' does" },
    { "lat)", NULL, "there is no '(' for this ')'" },
    { "(lat > 3) + 1", NULL, "'+' wants a number here, this is true or false" },
    { "lat && lon > 0", NULL, "'&&' wants a comparison or another truth value here, this is a number" },
    { "!lat", NULL, "'!' wants a comparison" },
    { "lat ? 1 : 2", NULL, "'?' wants a comparison" },
    { "lat > 0 ? 1 : lon > 0", NULL, "the other side of ':' wants a number here" },
    { "lat > 0 ? 1", NULL, "a ':' is missing here" },
    { "1 < lat < 3", NULL, "an operator or the end should stand here" },
    { "lat & lon", NULL, "one '&' is no operator, '&&' is" },
    { "lat | lon", NULL, "one '|' is no operator, '||' is" },
    { "sqrt lat", NULL, "sqrt is a function: a '(' must follow it" },
    { "sine(lat)", NULL, "there is no function 'sine'; there are:\n      abs min max floor ceil sqrt round" },
    { "atan2(lat)", NULL, "atan2 takes 2 arguments: a ',' is missing here" },
    { "exp(lat > 0)", NULL, "exp wants a number here, this is true or false" },
    { "min(lat)", NULL, "min takes 2 arguments: a ',' is missing here" },
    { "abs(lat, lon)", NULL, "abs takes 1 argument" },
    { "3lat", NULL, "a number ends here and a name begins" },
    { "height > 3", NULL, "there is no column 'height'; the file has:" },
    { "place + 1", NULL, "column 'place' holds 'Andorra', which is no number" },
    { "", NULL, "the expression ends where" },
    { "a", "a,b\n1,2\n3\n", ":3: the line has 1 field, the heading names 2" },
    { "a", "a,b\n1,2\n3,4,5\n", ":3: the line has 3 fields, the heading names 2" },
    { "a", "a,b\n1,\"2\n", ":2: a quoted field never ends" },
    { "a", "a,b\n1,\"2\"x\n", ":2: there is text behind a closing quote" },
    { "a", "a,b\n1,2\nx,4\n", ":3: column 'a' holds 'x', which is no number" },
    { "a", "a,a\n1,2\n", ":1: two columns are named 'a'" },
    { "a", "a,\n1,2\n", ":1: column 2 has no name" },
    { "a", "", "the file is empty" },
};

static void mistakes_are_explained(void)
{
    char path[] = "/tmp/cujit-expr-XXXXXX";
    int fd = mkstemp(path);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const struct mistake *m = &mistakes[i];
        tap_result r;
        if (m->csv && (ftruncate(fd, 0) || pwrite(fd, m->csv, strlen(m->csv), 0) < 0)) tap_bail("no temporary file");
        run(&r, m->text, m->csv ? path : places, NULL, NULL, NULL);
        tap_ok(r.status == 1, "'%s' is rejected", m->text);
        tap_has_str(r.err, m->says, "and the reason is: %s", m->says);
        tap_result_free(&r);
    }
    close(fd);
    unlink(path);
    tap_result r;
    run(&r, "a", "/nonexistent/x.csv", NULL, NULL, NULL);
    tap_has_str(r.err, "No such file", "a missing file is named");
    tap_result_free(&r);
    run(&r, "a", NULL, NULL, NULL, NULL);
    tap_is_int(r.status, 2, "a missing argument shows the usage");
    tap_result_free(&r);
}

static void quotes_survive(void)
{
    char path[] = "/tmp/cujit-expr-XXXXXX";
    const char csv[] = "\xef\xbb\xbfthe name,\"v,1\"\r\n\"Smith, \"\"J\"\"\",3\r\n\"two\nlines\",-1\r\n\r\n";
    int fd = mkstemp(path);
    if (write(fd, csv, sizeof csv - 1) < 0) tap_bail("no temporary file");
    close(fd);
    tap_result r;
    run(&r, "\"v,1\" > -2", path, NULL, NULL, NULL);
    tap_is_str(r.out, "the name,\"v,1\"\n\"Smith, \"\"J\"\"\",3\n\"two\nlines\",-1\n",
               "quoted fields come out as they went in");
    tap_result_free(&r);
    unlink(path);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    char path[4096];
    snprintf(path, sizeof path, "%s", tap_source("examples/data/places.csv")); /* outlives that buffer */
    places = path;
    read_places();
    tap_is_int(nrows, 312, "the data set has its rows");
    values_are_exact();
    functions_are_near();
    conditions_select_rows();
    sums_are_accurate();
    mistakes_are_explained();
    quotes_survive();
    for (int i = 0; i < nrows; i++) free(row[i]);
    return tap_done();
}
