/* mandelbrot FILE.ppm [WIDTH HEIGHT]: draws the Mandelbrot set with one thread a pixel and writes it
 * as a portable pixmap. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 256 };

/* pixels[y * width + x] = how many steps z = z * z + c takes to leave the disc of radius 2, at most STEPS */
static cj_ptx *build(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "mandelbrot");
    cj_val pixels = cj_param_ptr(f, "pixels", CJ_U32), width = cj_param(f, "width", CJ_U32),
           height = cj_param(f, "height", CJ_U32);
    cj_val left = cj_param(f, "left", CJ_F64), top = cj_param(f, "top", CJ_F64), step = cj_param(f, "step", CJ_F64);
    cj_val x = cj_global_id(f, CJ_X), y = cj_global_id(f, CJ_Y);
    cj_return_if(f, cj_or(f, cj_ge(f, x, width), cj_ge(f, y, height)));

    /* each operation rounds by itself, so every machine draws the same picture */
    cj_val cr = cj_add(f, left, cj_mul(f, cj_cvt(f, CJ_F64, x), step));
    cj_val ci = cj_sub(f, top, cj_mul(f, cj_cvt(f, CJ_F64, y), step));
    cj_val zr = cj_let(f, CJ_F64, 0), zi = cj_let(f, CJ_F64, 0), n = cj_let(f, CJ_U32, 0);
    cj_loop(f);
        cj_val rr = cj_mul(f, zr, zr), ii = cj_mul(f, zi, zi);
        cj_break_if(f, cj_gt(f, cj_add(f, rr, ii), 4));
        cj_break_if(f, cj_ge(f, n, STEPS));
        cj_val ri = cj_mul(f, zr, zi);
        cj_assign(f, zi, cj_add(f, cj_add(f, ri, ri), ci));
        cj_assign(f, zr, cj_add(f, cj_sub(f, rr, ii), cr));
        cj_assign(f, n, cj_add(f, n, 1));
    cj_end(f);
    cj_set(f, pixels, cj_add(f, cj_mul(f, y, width), x), n);
    return m;
}

static int write_picture(const char *path, const uint32_t *steps, unsigned width, unsigned height)
{
    FILE *out = fopen(path, "wb");
    if (!out) return perror(path), 1;
    fprintf(out, "P6\n%u %u\n255\n", width, height);
    for (size_t i = 0; i < (size_t)width * height; i++) {
        unsigned n = steps[i] >= STEPS ? 0 : steps[i] + 1;
        unsigned char rgb[3] = { (unsigned char)(n * 5), (unsigned char)(n * 9), (unsigned char)(n ? 96 + n / 2 : 0) };
        fwrite(rgb, 1, sizeof rgb, out);
    }
    if (ferror(out) | fclose(out)) return perror(path), 1;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: mandelbrot FILE.ppm [WIDTH HEIGHT]\n"
                    "Writes a picture of the Mandelbrot set, 960 x 640 pixels or as large as you say."), 0;
    unsigned width = argc > 3 ? (unsigned)atoi(argv[2]) : 960, height = argc > 3 ? (unsigned)atoi(argv[3]) : 640;
    if (argc < 2 || !width || !height || width > 32768 || height > 32768)
        return fprintf(stderr, "usage: mandelbrot FILE.ppm [WIDTH HEIGHT]\n"), 2;

    cj_ptx *m = build();
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "mandelbrot", NULL);
    size_t bytes = (size_t)width * height * sizeof(uint32_t);
    uint32_t *steps = cj_host_alloc(dev, bytes, NULL);
    int status = 1;
    if (!steps) {
        fprintf(stderr, "mandelbrot: %s\n", cj_error_of(dev)->message);
        goto out;
    }
    cj_dptr pixels = cj_alloc(s, bytes);
    double step = 3.6 / width;
    cj_launch(s, k, cj_grid3((width + 15) / 16, (height + 15) / 16, 1, 16, 16, 1), pixels, width, height, -2.4,
              step * height / 2, step);
    cj_copy_to_host(s, steps, pixels, bytes);
    cj_free(dev, pixels);
    if (cj_stream_sync(s) != CJ_OK) {
        fprintf(stderr, "mandelbrot: %s\n", cj_error_of(s)->message);
        goto out;
    }
    status = write_picture(argv[1], steps, width, height);
    if (!status) printf("%s: %u x %u pixels on %s\n", argv[1], width, height, cj_device_name(dev));
out:
    cj_host_free(dev, steps);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return status;
}
