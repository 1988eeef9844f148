"""The PTX that the clients which take PTX are given."""
ptx = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .u32 i, t, m;
    .reg .u64 p, q;
    .reg .f32 s, u, v;
    .reg .pred z;
    mov.u32 i, %ctaid.x;
    mov.u32 t, %ntid.x;
    mul.lo.u32 i, i, t;
    mov.u32 t, %tid.x;
    add.u32 i, i, t;
    ld.param.u32 m, [n];
    setp.ge.u32 z, i, m;
    @z ret;
    ld.param.u64 p, [x];
    ld.param.u64 q, [y];
    ld.param.f32 s, [a];
    mad.wide.u32 p, i, 4, p;
    mad.wide.u32 q, i, 4, q;
    ld.global.f32 u, [p];
    ld.global.f32 v, [q];
    fma.rn.f32 v, s, u, v;
    st.global.f32 [q], v;
    ret;
}
"""
