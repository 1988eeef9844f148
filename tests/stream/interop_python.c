/* Tensors and streams of Python packages in one process with the library: starts tests/stream/interop_python.py, which
 * writes the TAP.  NumPy, PyTorch and CuPy are tested where $CUJIT_TEST_PYTHON, else python3, has them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

/* The exit status of `python -c ''`. */
static int python_status(const char *python)
{
    int status = -1;
    const pid_t child = fork();
    if (!child) {
        execlp(python, python, "-c", "import ctypes, json", (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    char script[1024], library[1024];
    const char *named = getenv("CUJIT_TEST_PYTHON"), *python = named && *named ? named : "python3";
    tap_need_device(1);
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    tap_skip_all("a library with sanitizers cannot be loaded by Python");
#endif
    snprintf(script, sizeof script, "%s", tap_source("tests/stream/interop_python.py"));
    snprintf(library, sizeof library, "%s", tap_build(".libs/libcujit.so"));
    if (access(library, R_OK)) tap_skip_all("no shared library was built");
    if (python_status(python)) tap_skip_all("no %s with ctypes (CUJIT_TEST_PYTHON names another one)", python);
    execlp(python, python, "-B", script, library, (char *)NULL);
    tap_bail("%s cannot be started", python);
}
