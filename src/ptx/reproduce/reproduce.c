/* cj_ptx_reproducer: the file.  It is written under another name first, so that an older one is there until the new one
 * is whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_signals.h"
#include "ptx/reproduce/reproduce.h"

#include <cujit/parse.h>

/* ---- The program ------------------------------------------------------------------------------------------------- */

static void put_head(const cji_rep *r, cji_text *out)
{
    cji_text_puts(out, "/* Makes a module and prints its PTX.\n"
                       " *     cc -o program program.c $(pkg-config --cflags --libs cujit) && ./program\n");
    if (r->why[0]) {
        cji_text_puts(out, " * The module is read from its text: ");
        for (const char *s = r->why; *s; s++) cji_text_putc(out, *s == '/' && s > r->why && s[-1] == '*' ? '_' : *s);
        cji_text_puts(out, ".\n");
    }
    cji_text_printf(out, " * Written by cj_ptx_reproducer() of cujit %s. */\n#include <cujit/cujit.h>\n\n"
                         "#include <stdio.h>\n\n", cj_version());
}

static const char print_and_free[] =
    "\n    const char *text;\n"
    "    size_t bytes;\n"
    "    if (cj_ptx_print(m, 0, &text, &bytes) != CJ_OK)\n"
    "        return fprintf(stderr, \"%s\\n\", cj_error_of(m)->message), 1;\n"
    "    fwrite(text, 1, bytes, stdout);\n"
    "    cj_ptx_free(m);\n"
    "    return 0;\n"
    "}\n";

static void put_calls(const cji_rep *r, cji_text *out)
{
    put_head(r, out);
    cji_text_put(out, r->bodies.p, r->bodies.n);
    cji_text_puts(out, "int main(void)\n{\n    cj_ptx *m = cj_ptx_create();\n");
    cji_text_put(out, r->front.p, r->front.n);
    cji_text_puts(out, print_and_free);
}

/* A line of the text is one of the program. */
static void put_read(const cji_rep *r, const cji_text *ptx, cji_text *out)
{
    put_head(r, out);
    cji_text_puts(out, "static const char ptx[] =");
    for (size_t at = 0, end; at < ptx->n; at = end) {
        const char *line = memchr(ptx->p + at, '\n', ptx->n - at);
        end = line ? (size_t)(line - ptx->p) + 1 : ptx->n;
        cji_text_puts(out, "\n    ");
        cji_rep_quote(out, ptx->p + at, end - at);
    }
    cji_text_puts(out, ";\n\nint main(void)\n{\n    cj_ptx *m = cj_parse(ptx, sizeof ptx - 1, \"module.ptx\");\n");
    cji_text_puts(out, print_and_free);
}

/* Does a module that is read from `ptx` print the text that `m` prints? */
static bool reads_back(cji_rep *r, const cji_text *ptx)
{
    cji_text a = { .n = 0 }, b = { .n = 0 };
    cj_ptx *copy = cj_parse(ptx->p, ptx->n, NULL);
    bool same = cji_ptx_finish(copy, "cj_ptx_reproducer") == CJ_OK;
    r->short_of_memory = cji_err_status(copy) == CJ_ENOMEM;
    if (same) {
        cji_ptx_write(r->m, 0, &a);
        cji_ptx_write(copy, 0, &b);
        r->short_of_memory = a.failed || b.failed;
        same = !r->short_of_memory && a.n == b.n && !memcmp(a.p, b.p, a.n);
    }
    cji_text_free(&a);
    cji_text_free(&b);
    cj_ptx_free(copy);
    return same;
}

/* Are source lines known that are not the text's own? */
static bool has_lines(const cj_ptx *m)
{
    bool any = false;
    for (size_t i = 0; i < m->nfn; i++) any = any || !m->fn[i]->as_is || m->fn[i]->ntext_line;
    return any;
}

/* As its text, with the source lines that calls have in comments. */
static bool write_read(cji_rep *r, cji_text *out)
{
    cji_text ptx = { .n = 0 };
    cji_ptx_write(r->m, has_lines(r->m) ? CJ_PRINT_LINES : 0, &ptx);
    r->short_of_memory = ptx.failed;
    const bool good = !ptx.failed && reads_back(r, &ptx);
    if (good) put_read(r, &ptx, out);
    cji_text_free(&ptx);
    return good;
}

/* As calls, else as its text. */
static cj_status write_program(cji_rep *r, cji_text *out)
{
    const bool calls = cji_rep_module(r);
    bool read = false;
    if (calls) put_calls(r, out);
    else if (!r->short_of_memory) read = write_read(r, out);
    if (r->short_of_memory || out->failed) return CJ_ENOMEM;
    return calls || read ? CJ_OK : CJ_ENOTSUP;
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

static bool write_bytes(int fd, const char *p, size_t n)
{
    while (n) {
        const ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

/* Closes it; 0, or the first error. */
static int close_after(int fd, bool good)
{
    int error = good ? 0 : errno ? errno : EIO;
    if (close(fd) && !error) error = errno;
    return error;
}

/* A pipe, a terminal, /dev/stdout: what no file replaces. */
static int write_into(const char *path, const cji_text *t)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? errno : close_after(fd, write_bytes(fd, t->p, t->n));
}

static int open_fresh(const char *path, char *fresh, size_t room)
{
    int fd = -1;
    for (unsigned i = 0; fd < 0 && i < 100; i++) {
        snprintf(fresh, room, "%s.%ld-%u", path, (long)getpid(), i);
        fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0 && errno != EEXIST) return -1;
    }
    return fd;
}

/* 0, or the error. */
static int replace_file(const char *path, const cji_text *t)
{
    struct stat old;
    const bool there = stat(path, &old) == 0;
    if (there && S_ISDIR(old.st_mode)) return EISDIR;
    if (there && !S_ISREG(old.st_mode)) return write_into(path, t);
    if (there && access(path, W_OK)) return errno;
    const size_t room = strlen(path) + 40;
    char *fresh = cji_alloc(room);
    if (!fresh) return ENOMEM;
    const int fd = open_fresh(path, fresh, room);
    int error = fd < 0 ? errno : 0;
    if (fd >= 0) {
        if (there) (void)!fchmod(fd, old.st_mode & 0777);
        error = close_after(fd, write_bytes(fd, t->p, t->n));
        if (!error && rename(fresh, path)) error = errno;
        if (error) unlink(fresh);
    }
    cji_free(fresh, room);
    return error;
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

/* The module stays as it is: the thread alone has the failure. */
static cj_status report(const cji_rep *r, cj_status s)
{
    if (s == CJ_ENOMEM) return cji_fail(NULL, s, "cj_ptx_reproducer", "host memory is exhausted");
    return cji_fail(NULL, s, "cj_ptx_reproducer", "neither calls nor its own text make this module: %s", r->why);
}

cj_status cj_ptx_reproducer(cj_ptx *m, const char *path)
{
    cj_status s = cji_check(m, CJI_TAG_PTX, __func__);
    if (s != CJ_OK) return s;
    if (!path || !*path) return cji_fail(NULL, CJ_EINVAL, __func__, "the path is %s", path ? "empty" : "NULL");
    s = cji_ptx_finish(m, __func__);
    if (s != CJ_OK) return s;
    cji_rep r = { .m = m };
    cji_text out = { .n = 0 };
    cji_kept latest;
    cji_fail_save(&latest);   /* what the copy failed with is not the caller's */
    s = write_program(&r, &out);
    cji_fail_restore(&latest);
    if (s != CJ_OK) report(&r, s);
    cji_file_signals held;
    cji_file_signals_hold(&held);
    const int error = s == CJ_OK ? replace_file(path, &out) : 0;
    cji_file_signals_release(&held);
    if (error)
        s = cji_fail(NULL, error == ENOMEM ? CJ_ENOMEM : CJ_EINVAL, __func__, "%s cannot be written: %s",
                     cji_short(path), strerror(error));
    cji_text_free(&out);
    cji_rep_free(&r);
    return s;
}
