struct Params {
  unsigned long long w[7];
};
extern "C" __global__ void __launch_bounds__(256) wf_fused_3ad5ea01a7a505f1(const __grid_constant__ Params p) {
  const float s2 = *reinterpret_cast<const float*>(p.w[0]);
  const float c2 = s2;
  const float c3 = wf_to_f32(wf_from_bits(p.w[1]));
  const wf_u32 columns = wf_u32(p.w[2]);
  const wf_u32 column = (wf_u32(blockIdx.x) * 256u + threadIdx.x) * 4u;
  if (column >= columns) return;
  const float* const a0 = reinterpret_cast<const float*>(p.w[3]);
  const float* const a1 = reinterpret_cast<const float*>(p.w[4]);
  float* const b0 = reinterpret_cast<float*>(p.w[5]);
  wf_u8* const b1 = reinterpret_cast<wf_u8*>(p.w[6]);
  float x0[4];
  float x1[4];
  float y0[4];
  wf_u8 y1[4];
  if (column + 4u <= columns) {
    wf_load<4>(x0, a0 + column);
    wf_load<4>(x1, a1 + column);
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (column + e < columns) {
        x0[e] = a0[column + e];
        x1[e] = a1[column + e];
      } else {
        x0[e] = 0;
        x1[e] = 0;
      }
    }
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const float v0 = x0[e];
    const float v1 = x1[e];
    const float v3 = wf_mul(v0, c3);
    const float v4 = wf_add(v3, v1);
    const wf_i32 v5 = (c2 < v0);
    y0[e] = v4;
    y1[e] = wf_u8(v5);
  }
  if (column + 4u <= columns) {
    wf_store<4>(b0 + column, y0);
    wf_store<4>(b1 + column, y1);
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (column + e < columns) {
        b0[column + e] = y0[e];
        b1[column + e] = y1[e];
      }
    }
  }
}
