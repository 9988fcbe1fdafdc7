struct Params {
  unsigned long long w[14];
};
extern "C" __global__ void __launch_bounds__(256) wf_fused_4a32940201724e80(const __grid_constant__ Params p) {
  if (wf_run_failed(p.w[0])) return;
  const wf_u32 columns = wf_u32(p.w[1]);
  const wf_u32 shift = wf_u32(p.w[2]);
  const wf_u32 block = wf_divide(blockIdx.x, p.w[3]);
  const wf_u32 part = blockIdx.x - block * wf_u32(p.w[4]);
  const wf_u32 row = block * wf_u32(256u >> shift) + (threadIdx.x >> shift);
  const wf_u32 column = ((wf_u32(part) << shift) + (threadIdx.x & ((1u << shift) - 1u))) * 8u;
  if (row >= wf_u32(p.w[5]) || column >= columns) return;
  const wf_u32 q1 = wf_divide(row, p.w[6]);
  const wf_u32 i1 = row - q1 * wf_u32(p.w[7]);
  const wf_u32 i0 = q1;
  const wf_u16* const a0 = reinterpret_cast<const wf_u16*>(p.w[8]) + wf_i32(row * columns);
  const wf_u16* const a1 = reinterpret_cast<const wf_u16*>(p.w[9]);
  const wf_u16* const a2 = reinterpret_cast<const wf_u16*>(p.w[12]) + wf_i32(i0 * wf_u32(p.w[10]) + i1 * wf_u32(p.w[11]));
  wf_u16* const b0 = reinterpret_cast<wf_u16*>(p.w[13]);
  wf_u16 x0[8];
  wf_u16 x1[8];
  wf_u16 y0[8];
  wf_load<8>(x0, a0 + column);
  wf_load<4>(x1, a1 + column);
  wf_load<4>(x1 + 4, a1 + column + 4);
  const wf_u16 s2 = *a2;
  const float c2 = wf_bf16_to_f32(s2);
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const float v0 = wf_bf16_to_f32(x0[e]);
    const float v1 = wf_bf16_to_f32(x1[e]);
    const float v3 = wf_mul(v0, v1);
    const float v4 = wf_bf16_to_f32(wf_to_bf16(v3));
    const float v5 = wf_add(v4, c2);
    const float v6 = wf_bf16_to_f32(wf_to_bf16(v5));
    const float v7 = wf_relu(v6);
    const float v8 = wf_bf16_to_f32(wf_to_bf16(v7));
    y0[e] = wf_f32_to_bf16(v8);
  }
  wf_store<8>(b0 + row * columns + column, y0);
}
