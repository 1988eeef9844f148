/* The example expr: any table as CSV and any expression is a kernel that the checker takes, or is rejected with a
 * sentence. An input is a line with the expression, then the table. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/expr.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

const char cji_fuzz_name[] = "expr";
const bool cji_fuzz_is_text = true, cji_fuzz_has_threads = false;

static char path[64];

/* expr says on stderr what is wrong. */
void cji_fuzz_begin(void)
{
    int fd = open("/dev/null", O_WRONLY);
    if (fd >= 0 && dup2(fd, 2) >= 0) close(fd);
    snprintf(path, sizeof path, "/dev/shm/cujit-fuzz-expr-%ld", (long)getpid());
}

static const char *const inputs[] = {
    "a + b * 2 > c ? min(a, b) : max(-c, 1e3)\na,b,c\n1,2,3\n4,5,6\n",
    "sqrt(abs(x)) - floor(y / 3) + ceil(hypot(x, y))\nx,y\n0.5,-2\n1e300,\"4\"\n",
    "!(a < 1) && (a >= 2 || a != 3) == 1\n\"a\"\n7\n",
    "price*(1+tax)\nprice,tax,name\n1,0.2,\"a \"\"quoted\"\" name\"\n2,0.1,b\n",
};

void cji_fuzz_seeds(void)
{
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) cji_fuzz_add(inputs[i], strlen(inputs[i]));
}

static bool write_table(const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f) cji_fuzz_fail("cannot write %s", path);
    bool good = fwrite(data, 1, size, f) == size;
    return !fclose(f) && good;
}

static bool compiles(const expression *e)
{
    const char *text;
    size_t n;
    cj_ptx *m = expression_build(e);
    bool good = cj_ptx_print(m, 0, &text, &n) == CJ_OK;
    if (!good) cji_fuzz_fail("an accepted expression is no kernel: %s", cj_error_of(m)->message);
    cj_ptx_free(m);
    return good;
}

int cji_fuzz_one(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    table t = { 0 };
    expression e = { 0 };
    int accepted = 0;
    if (!end) return 0;
    char *text = cji_fuzz_string(data, (size_t)(end - data));
    if (!write_table(end + 1, size - (size_t)(end + 1 - data))) cji_fuzz_fail("cannot write %s", path);
    if (table_read(&t, path)) {
        if (expression_parse(&e, text, &t)) accepted = compiles(&e);
        expression_free(&e);
    }
    table_free(&t);
    remove(path);
    free(text);
    return accepted;
}
