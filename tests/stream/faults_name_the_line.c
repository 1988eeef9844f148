/* A kernel's fault is one sentence in the stream's record: kernel, instruction, the user's own line, thread, address
 * and allocation; cj_stream_get_fault has its fields. A fault ends the device for a process, so each row has a process
 * of its own. */
#include <cujit/cujit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

enum { BYTES = 64, LANES = 32 };

typedef struct row_result {
    cj_error error;
    cj_fault fault;
    int sync, got, line;
    uint64_t memory;
} row_result;

/* -- The kernels; each returns the source line that the fault is on ------------------------------------------------ */

static cj_kernel *c_lines(cj_device *dev, int *line)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_set(f, p, i, i); *line = __LINE__;
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_ptx_free(m); /* the module knows its lines without the caller's handle */
    return k;
}

static cj_kernel *with_line_info(cj_device *dev, int *line)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_set(f, p, i, i); *line = __LINE__;
    cj_kernel *k = cj_kernel_load(dev, m, "k", CJ_COMPILE(.line_info = 1));
    cj_ptx_free(m);
    return k;
}

static cj_kernel *lines_of_a_language(cj_device *dev, int *line)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = (cj_ptx_kernel)(m, "k");
    cj_line(f, "prog.lang", 41);
    cj_val p = (cj_param_ptr)(f, "p", CJ_U32), i = (cj_global_id)(f, CJ_X);
    cj_line(f, "prog.lang", *line = 42);
    (cj_set)(f, p, i, i);
    cj_line(f, "prog.lang", 43);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_ptx_free(m);
    return k;
}

static cj_kernel *in_a_function(cj_device *dev, int *line)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *g = cj_ptx_func(m, "helper");
    cj_val at = cj_param(g, "at", CJ_U64);
    cj_ins(g, "ld.global.u32", cj_reg(g, CJ_U32), cj_mem(g, at, 2)); *line = __LINE__;
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_U32);
    cj_call(f, g, p);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_ptx_free(m);
    return k;
}

static cj_kernel *of_text(cj_device *dev, int *line)
{
    *line = 0;
    cj_module *mod = cj_module_load_text(
        dev,
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n .reg .u64 %a;\n"
        " ld.param.u64 %a, [p];\n cvta.to.global.u64 %a, %a;\n ld.global.u64 %a, [%a+64];\n ret;\n}\n",
        NULL);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_module_free(mod);
    return k;
}

static cj_kernel *of_text_with_loc(cj_device *dev, int *line)
{
    *line = 7;
    cj_module *mod = cj_module_load_text(
        dev,
        ".version 7.0\n.target sm_70\n.address_size 64\n.file 1 \"other.cu\"\n.visible .entry k(.param .u64 p)\n{\n"
        " .reg .u64 %a;\n"
        " .loc 1 6 0\n ld.param.u64 %a, [p];\n cvta.to.global.u64 %a, %a;\n .loc 1 7 0\n"
        " atom.global.add.u64 %a, [%a+-8], 1;\n"
        " ret;\n}\n",
        NULL);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_module_free(mod);
    return k;
}

static cj_kernel *loaded_from_its_image(cj_device *dev, int *line)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_set(f, p, i, i);
    *line = 0; /* kept bytes have lost the builder */
    cj_image *img = cj_image_create(dev, m, NULL);
    cj_module *mod = cj_module_load_image(dev, img);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_image_free(img), cj_module_free(mod), cj_ptx_free(m);
    return k;
}

static const struct fault_row {
    const char *name;
    cj_kernel *(*make)(cj_device *dev, int *line);
    const char *file;              /* the end of it */
    const char *says[4];
    const char *instruction, *function;
    int kind, access, code;
    uint32_t thread, bytes;
    int64_t offset;                /* of the address in the memory */
} rows[] = {
    { "a C line",
      c_lines,
      "faults_name_the_line.c",
      { "st.global.u32 at ", " of kernel k writes 4 bytes at 0x", "thread 16,0,0)" },
      "st.global.u32",
      "k",
      CJ_FAULT_ADDRESS,
      CJ_FAULT_WRITE,
      700,
      16,
      4,
      64 },
    { "a C line with .loc too",
      with_line_info,
      "faults_name_the_line.c",
      { "st.global.u32 at ", " of kernel k writes 4 bytes at 0x", "thread 16,0,0)" },
      "st.global.u32",
      "k",
      CJ_FAULT_ADDRESS,
      CJ_FAULT_WRITE,
      700,
      16,
      4,
      64 },
    { "a line of a language",
      lines_of_a_language,
      "prog.lang",
      { "st.global.u32 at prog.lang:42 (PTX line ", ") of kernel k writes" },
      "st.global.u32",
      "k",
      CJ_FAULT_ADDRESS,
      CJ_FAULT_WRITE,
      700,
      16,
      4,
      64 },
    { "a function",
      in_a_function,
      "faults_name_the_line.c",
      { "ld.global.u32 at ", " of helper, called by kernel k " },
      "ld.global.u32",
      "helper",
      CJ_FAULT_MISALIGNED,
      CJ_FAULT_READ,
      716,
      0,
      4,
      2 },
    { "a text",
      of_text,
      "",
      { "ld.global.u64 at PTX line 9 of kernel k reads 8 bytes" },
      "ld.global.u64",
      "k",
      CJ_FAULT_ADDRESS,
      CJ_FAULT_READ,
      700,
      0,
      8,
      64 },
    { "a text with .loc",
      of_text_with_loc,
      "other.cu",
      { "at other.cu:7 (PTX line 12) of kernel k" },
      "atom.global.add.u64",
      "k",
      CJ_FAULT_ADDRESS,
      CJ_FAULT_ATOMIC,
      700,
      0,
      8,
      -8 },
    { "an image",
      loaded_from_its_image,
      "",
      { "st.global.u32 at PTX line ", " of kernel k writes" },
      "st.global.u32",
      "k",
      CJ_FAULT_ADDRESS,
      CJ_FAULT_WRITE,
      700,
      16,
      4,
      64 },
};

/* In a child: the device fails, and what is reported of it. */
static void fail_once(const struct fault_row *row, row_result *r)
{
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = row->make(dev, &r->line);
    cj_dptr d = cj_alloc(s, BYTES);
    r->memory = d.addr;
    cj_fault_defaults(&r->fault);
    if (cj_stream_get_fault(s, &r->fault) != CJ_ENOTFOUND || cj_error_copy(s, NULL) != CJ_OK) r->got = -100;
    cj_launch(s, k, cj_grid(1, LANES), d);
    r->sync = cj_stream_sync(s);
    cj_error_copy(s, &r->error);
    r->got += cj_stream_get_fault(s, &r->fault);
}

static void check(const struct fault_row *row)
{
    row_result r = { .sync = 1 };
    int out[2];
    char place[200];
    if (pipe(out)) tap_bail("no pipe");
    pid_t pid = fork();
    if (pid == 0) {
        fail_once(row, &r);
        _exit(write(out[1], &r, sizeof r) != sizeof r);
    }
    close(out[1]);
    if (read(out[0], &r, sizeof r) != sizeof r) tap_fail("%s: no answer", row->name);
    close(out[0]);
    waitpid(pid, NULL, 0);
    const cj_error *e = &r.error;
    const cj_fault *f = &r.fault;
    tap_is_int(r.sync, CJ_EDRIVER, "%s: the stream fails: %s", row->name, e->message);
    for (size_t i = 0; i < sizeof row->says / sizeof *row->says && row->says[i]; i++)
        tap_has_str(e->message, row->says[i], "%s: the sentence", row->name);
    tap_has_str(e->message, r.fault.code == 716 ? "CUDA_ERROR_MISALIGNED_ADDRESS" : "CUDA_ERROR_ILLEGAL_ADDRESS",
                "%s: the driver's name", row->name);
    tap_is_int(e->driver_code, row->code, "%s: the driver's code", row->name);
    tap_is_int(e->line, r.line, "%s: the line in the record", row->name);
    snprintf(place, sizeof place, "%s:%d (PTX line %d)", row->file, r.line, f->ptx_line);
    if (r.line) tap_has_str(e->message, place, "%s: the line in the sentence", row->name);
    size_t n = strlen(e->file), tail = strlen(row->file);
    tap_ok(n >= tail && !strcmp(e->file + n - tail, row->file) && !strcmp(e->file, f->file), "%s: the file: %s",
           row->name, e->file);
    tap_is_int(r.got, CJ_OK, "%s: the fault is reported", row->name);
    tap_ok(f->code == row->code && f->kind == row->kind && f->access == row->access && f->line == r.line &&
               f->ptx_line > 0,
           "%s: code, kind, access, lines", row->name);
    tap_ok(!strcmp(f->kernel, "k") && !strcmp(f->function, row->function) && !strcmp(f->instruction, row->instruction),
           "%s: %s in %s of %s", row->name, f->instruction, f->function, f->kernel);
    tap_ok(f->thread[0] == row->thread && !f->thread[1] && !f->block[0], "%s: thread %u", row->name, f->thread[0]);
    tap_ok(f->address == r.memory + (uint64_t)row->offset && f->bytes == row->bytes && f->space == CJ_SPACE_GLOBAL,
           "%s: address and bytes", row->name);
    if (row->offset >= 0)
        tap_ok(f->allocation == r.memory && f->allocation_bytes == BYTES && !f->allocation_freed, "%s: the allocation",
               row->name);
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check(&rows[i]);
    return tap_done();
}
