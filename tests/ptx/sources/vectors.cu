/* Vector types, wide loads and stores, structs with alignment. */
struct __align__(16) particle { float3 at; unsigned char kind; double mass; short2 s; };
__global__ void vectors(float4 *a, int2 *b, uchar4 *c, particle *p, double2 *d, longlong2 *l, ushort4 *s)
{
    int i = threadIdx.x;
    float4 v = a[i]; int2 w = b[i]; uchar4 u = c[i]; double2 e = d[i]; longlong2 k = l[i]; ushort4 t = s[i];
    p[i].at = make_float3(v.x + v.w, w.x, u.z);
    p[i].mass = e.x * e.y + k.x;
    p[i].kind = u.x ^ u.y;
    p[i].s = make_short2(t.x, t.w);
    a[i + 1] = make_float4(v.y, v.z, p[i + 1].mass, p[i + 1].kind);
    c[i + 1] = make_uchar4(u.y, u.z, u.w, u.x);
    l[i + 1] = make_longlong2(k.y, k.x);
    s[i + 1] = make_ushort4(t.w, t.z, t.y, t.x);
}
