/* examples/transformer beside PyTorch, where $CUJIT_TEST_PYTHON, else python3, has it: logits of the same weights and
 * tokens differ by 1 % of the greatest logit at most from those of f64, by 2 % from PyTorch's own of bf16. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/tap_run.h"

enum { NO_PYTORCH = 77, NOT_STARTED = 127 };

int main(void)
{
    const char *named = getenv("CUJIT_TEST_PYTHON"), *python = named && *named ? named : "python3";
    char path[] = "/tmp/cujit-transformer-XXXXXX";
    tap_result r;
    tap_need_device(1);
    tap_plan(2);
    const int fd = mkstemp(path);
    if (fd < 0) tap_bail("no temporary file");
    close(fd);
    const char *ours[] = { tap_build("examples/transformer"), path, NULL };
    tap_run(&r, ours, NULL);
    tap_is_int(r.status, 0, "the example writes weights, tokens and logits");
    if (r.status) tap_diag("%s", r.err);
    tap_result_free(&r);
    const char *script = tap_source("tests/examples/transformer_torch.py");
    const char *theirs[] = { "/usr/bin/env", python, "-B", script, path, NULL };
    tap_run(&r, theirs, NULL);
    if (r.status == NO_PYTORCH || r.status == NOT_STARTED) tap_skip(1, "%s has no PyTorch with a GPU", python);
    else {
        tap_is_int(r.status, 0, "its logits are PyTorch's");
        tap_diag("%s%s", r.out, r.err);
    }
    tap_result_free(&r);
    unlink(path);
    return tap_done();
}
