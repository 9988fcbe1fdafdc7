struct Params {
  unsigned long long w[22];
};
extern "C" __global__ void __launch_bounds__(256) wf_fused_641b07088f0c5bff(const __grid_constant__ Params p) {
  const wf_u32 n1 = wf_divide(blockIdx.x, p.w[0]);
  const wf_u32 tile_x = blockIdx.x - n1 * wf_u32(p.w[1]);
  const wf_u32 n2 = wf_divide(n1, p.w[2]);
  const wf_u32 tile_y = n1 - n2 * wf_u32(p.w[3]);
  const wf_u32 n3 = wf_divide(n2, p.w[4]);
  const wf_u32 i0 = n2 - n3 * wf_u32(p.w[5]);
  const wf_u32 lane = threadIdx.x & 31u, warp = threadIdx.x >> 5;
  const wf_u32 columns = wf_u32(p.w[6]);
  const wf_u32 rows = wf_u32(p.w[7]);
  const wf_u32 x = wf_u32(tile_x) * 32u;
  const wf_u32 y = wf_u32(tile_y) * 32u;
  const wf_u16* const a0 = reinterpret_cast<const wf_u16*>(p.w[9]) + wf_i32(i0 * wf_u32(p.w[8]));
  const wf_u32 sx0 = wf_u32(p.w[10]);
  const wf_u32 sy0 = wf_u32(p.w[11]);
  const wf_u16* const a1 = reinterpret_cast<const wf_u16*>(p.w[13]) + wf_i32(i0 * wf_u32(p.w[12]));
  const wf_u32 sx1 = wf_u32(p.w[14]);
  const wf_u32 sy1 = wf_u32(p.w[15]);
  const wf_u16* const a2 = reinterpret_cast<const wf_u16*>(p.w[16]);
  const wf_u32 sx2 = wf_u32(p.w[17]);
  const wf_u32 sy2 = wf_u32(p.w[18]);
  wf_u16* const b0 = reinterpret_cast<wf_u16*>(p.w[19]);
  wf_u16 x1[4];
  wf_u16 x2[4];
  wf_u16 y0[4];
  __shared__ wf_u16 t0[32][33];
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (x + warp + 8 * e < columns && y + lane < rows) {
      t0[lane][warp + 8 * e] = a0[wf_i32((x + warp + 8 * e) * sx0 + (y + lane) * sy0)];
    }
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (x + lane < columns && y + warp + 8 * e < rows) {
      x1[e] = a1[wf_i32((x + lane) * sx1 + (y + warp + 8 * e) * sy1)];
      x2[e] = a2[wf_i32((x + lane) * sx2 + (y + warp + 8 * e) * sy2)];
    } else {
      x1[e] = 0;
      x2[e] = 0;
    }
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const float v0 = wf_f16_to_f32(t0[warp + 8 * e][lane]);
    const float v1 = wf_f16_to_f32(x1[e]);
    const float v2 = wf_f16_to_f32(x2[e]);
    const float v3 = wf_mul(v0, v1);
    const float v4 = wf_f16_to_f32(wf_to_f16(v3));
    const float v5 = wf_add(v4, v2);
    const float v6 = wf_f16_to_f32(wf_to_f16(v5));
    const float v7 = wf_relu(v6);
    const float v8 = wf_f16_to_f32(wf_to_f16(v7));
    y0[e] = wf_f32_to_f16(v8);
  }
  const wf_u32 first = i0 * wf_u32(p.w[20]);
  const wf_u32 step = wf_u32(p.w[21]);
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (x + lane < columns && y + warp + 8 * e < rows) {
      b0[first + (y + warp + 8 * e) * step + x + lane] = y0[e];
    }
  }
}
