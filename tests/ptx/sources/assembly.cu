/* sm 80: inline assembly: registers, predicates, vectors, labels, scopes, carries. */
__device__ __forceinline__ unsigned lane() { unsigned r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
__global__ void assembly(unsigned *x, float *f, unsigned long long *d, const uint4 *v)
{
    unsigned lo, hi;
    asm("add.cc.u32 %0, %2, %4;\n\taddc.u32 %1, %3, %5;" : "=r"(lo), "=r"(hi) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]));
    asm volatile("{\n.reg .pred p, q;\n.reg .b32 t<2>;\nsetp.gt.and.u32 p|q, %0, %1, 1;\n@p bra DONE_%=;\nmov.b32 t0, %0;\nst.global.u32 [%2], t0;\nDONE_%=:\n@!q st.global.u32 [%2+4], %1;\n}" ::"r"(lo), "r"(hi), "l"(x) : "memory");
    unsigned long long both;
    asm("mov.b64 %0, {%1, %2};" : "=l"(both) : "r"(lo), "r"(hi));
    uint4 q;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w) : "l"(v));
    float g;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(g) : "f"(f[0]));
    f[1] = g;
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(g));
    d[0] = both + q.x + q.w + lane() + h;
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(d + 16));
}
