/* Texture and surface objects. */
__global__ void sample(cudaTextureObject_t t1, cudaTextureObject_t t2, cudaTextureObject_t t3, cudaSurfaceObject_t s, float4 *out)
{
    float x = threadIdx.x * 0.5f, y = threadIdx.y * 0.25f;
    float4 a = tex1D<float4>(t1, x), b = tex2D<float4>(t2, x, y), c = tex3D<float4>(t3, x, y, 0.5f);
    int v;
    surf2Dread(&v, s, threadIdx.x * 4, threadIdx.y);
    surf2Dwrite(v + 1, s, threadIdx.x * 4, threadIdx.y);
    float4 d = tex2DLod<float4>(t2, x, y, 1.0f);
    int4 e = tex1Dfetch<int4>(t1, threadIdx.x);
    out[threadIdx.x] = make_float4(a.x + b.y, b.z + c.w, d.x * v, e.x + e.y);
}
