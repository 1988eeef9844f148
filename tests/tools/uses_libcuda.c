/* A program of somebody else's: opens libcuda.so.1 by that name and asks it for its devices. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned), (*count)(int *), n = 0;
    if (!lib) return fprintf(stderr, "%s\n", dlerror()), 1;
    *(void **)&init = dlsym(lib, "cuInit");
    *(void **)&count = dlsym(lib, "cuDeviceGetCount");
    if (!init || !count) return fprintf(stderr, "%s\n", dlerror()), 1;
    int status = init(0);
    if (!status) status = count(&n);
    printf("status %d, %d device, %d arguments, the last is %s\n", status, n, argc - 1, argv[argc - 1]);
    return status ? 1 : 7;
}
