/* A linker that several threads use: their calls come one after the other, and one that is destroyed meanwhile is freed
 * when the last call has ended. */
#include <pthread.h>

#include "tests/conformance/driver_abi.h"

enum { ROUNDS = 40, THREADS = 4 };

static const char text[] = ABI_HEAD ".visible .entry k()\n{\n  ret;\n}\n";
static CUlinkState state;
static pthread_barrier_t together;
static unsigned wrong[THREADS];

static bool expected(CUresult r)
{
    return r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_HANDLE || r == CUDA_ERROR_INVALID_VALUE ||
           r == CUDA_ERROR_INVALID_PTX;
}

static void *use(void *p)
{
    size_t i = (size_t)(uintptr_t)p;
    cu.cuCtxSetCurrent(abi_ctx);
    for (int round = 0; round < ROUNDS; round++) {
        void *cubin;
        size_t bytes;
        pthread_barrier_wait(&together);
        CUresult r =
            i == 0 ? cu.cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, sizeof text, "k", 0, NULL, NULL)
            : i == 1 ? cu.cuLinkComplete(state, &cubin, &bytes)
            : i == 2 ? cu.cuLinkDestroy(state)
                     : cu.cuLinkAddData(state, CU_JIT_INPUT_CUBIN, (void *)(uintptr_t)text, sizeof text, "k", 0, NULL,
                                        NULL) == CUDA_SUCCESS;
        wrong[i] += !expected(r);
        pthread_barrier_wait(&together);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    abi_open();
    pthread_barrier_init(&together, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, use, (void *)(uintptr_t)i);
    unsigned failed = 0, left = 0;
    for (int round = 0; round < ROUNDS; round++) {
        failed += cu.cuLinkCreate(0, NULL, NULL, &state) != CUDA_SUCCESS;
        failed += cu.cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, sizeof text, "first", 0, NULL,
                                   NULL) != CUDA_SUCCESS;
        pthread_barrier_wait(&together);
        pthread_barrier_wait(&together);
        left += cu.cuLinkDestroy(state) == CUDA_SUCCESS;
    }
    for (size_t i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    tap_is_uint(failed, 0, "a linker is made in each round");
    for (size_t i = 0; i < THREADS; i++)
        tap_is_uint(wrong[i], 0, "thread %zu: each call returns what the manual names", i);
    tap_is_uint(left, 0, "each is destroyed once");
    return abi_close();
}
