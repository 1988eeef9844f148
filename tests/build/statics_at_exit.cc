// Static objects of a C++ program own objects of cujit, and use them in their destructors, behind main: those that were
// made before main, those that main has filled, those of a function, and those of a thread. Work is in flight at the
// end. usage: statics_at_exit; 77: there is no device
#include <cujit/cujit.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

enum { N = 64, ROUNDS = 20 };

// A program on the device. Members are released in the reverse order, and that does not matter.
struct engine {
    cujit::ptx m;
    cujit::driver drv;
    cujit::device dev;
    cujit::stream s;
    cujit::kernel k;
    cujit::compiler compiler;
    cujit::future future;
    cujit::waiter waiter;
    cj_dptr d = { 0 };
    std::uint32_t seen[N] = { 0 };
    const char *name;

    explicit engine(const char *name) noexcept : name(name) {}
    engine(const char *name, int) : name(name) { open(); }

    void open()
    {
        m = cj_ptx_create();
        cj_fn *f = cj_ptx_kernel(m, "add");
        cj_val x = cj_param_ptr(f, "x", CJ_U32), i = cj_global_id(f, CJ_X);
        cj_set(f, x, i, cj_add(f, cj_get(f, x, i), 1u));
        drv = cj_driver_open(nullptr);
        dev = cj_device_open(drv, 0, nullptr);
        s = cj_stream_create(dev, nullptr);
        k = cj_kernel_load(dev, m, "add", nullptr);
        waiter = cj_waiter_create(dev, nullptr);
        compiler = cj_compiler_create(dev, nullptr);
        d = cj_alloc(s, sizeof seen);
        cj_fill32(s, d, 0, N);
    }

    // Leaves work under way.
    void start()
    {
        for (int i = 0; i < ROUNDS; i++) cj_launch(s, k, cj_grid(1, N), d);
        cj_waiter_add_stream(waiter, s, CJ_WAIT_FOREVER, [](void *, cj_wait_result) {}, nullptr);
        future = cj_compiler_image(compiler, m, nullptr);
    }

    // The GPU's driver may have ended before this: then every call fails, and says that.
    ~engine()
    {
        if (!s) return;
        cj_copy_to_host(s, seen, d, sizeof seen);
        const cj_status st = cj_stream_sync(s);
        const bool right = st == CJ_OK ? seen[0] == ROUNDS && seen[N - 1] == ROUNDS : may_be_gone();
        cj_free(dev, d);
        if (right) return;
        std::fprintf(stderr, "%s: %s, %u\n", name, cj_status_name(st), static_cast<unsigned>(seen[0]));
        _exit(1);
    }

    static bool may_be_gone()
    {
        const char *driver = std::getenv("CUJIT_DRIVER");
        return driver && !std::strcmp(driver, "cuda");
    }
};

static engine before_main("made before main", 0);
static engine filled("filled by main");

static engine &of_function()
{
    static engine e("of a function", 0);
    return e;
}

int main()
{
    if (cj_error_of(before_main.dev)->status == CJ_ENODRIVER || cj_error_of(before_main.dev)->status == CJ_ENODEVICE) {
        std::printf("%s\n", cj_error_of(before_main.dev)->message);
        std::fflush(nullptr);
        _exit(77);
    }
    filled.open();
    filled.start();
    before_main.start();
    of_function().start();
    std::thread([] {
        thread_local engine own("of a thread", 0);
        own.start();
    }).join();
    return 0;
}
