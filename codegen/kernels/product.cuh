// Matrix products in tiles through shared memory, operands of any strides. Floats are joined with
// fma, k ascending; halves are computed in float and rounded once; integers wrap.
#ifndef WEFT_PRODUCT_CUH
#define WEFT_PRODUCT_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#endif

WEFT_FN float wf_multiply_add(float a, float b, float c) { return wf_fma(a, b, c); }
WEFT_FN double wf_multiply_add(double a, double b, double c) { return wf_fma(a, b, c); }
WEFT_FN wf_i32 wf_multiply_add(wf_i32 a, wf_i32 b, wf_i32 c) { return wf_add(wf_mul(a, b), c); }
WEFT_FN wf_i64 wf_multiply_add(wf_i64 a, wf_i64 b, wf_i64 c) { return wf_add(wf_mul(a, b), c); }

// A part of one operand, E elements across and D along k, that 256 threads fetch: those that are
// neighbours in memory by neighbouring threads.
template <class X, int E, int D, bool by_k, class U>
struct wf_panel {
  typedef typename X::value V;
  static const int each = E * D / 256;
  const typename X::stored* data;
  U stride, k_stride, first, end;
  V fetched[each];

  static __device__ int across(int i) {
    int e = int(threadIdx.x) + 256 * i;
    return by_k ? e / D : e % E;
  }
  static __device__ int along(int i) {
    int e = int(threadIdx.x) + 256 * i;
    return by_k ? e % D : e / E;
  }
  __device__ void fetch(U k, U k_end) {
    WF_UNROLL
    for (int i = 0; i < each; ++i) {
      U at = first + U(across(i)), p = k + U(along(i));
      fetched[i] =
          at < end && p < k_end ? X::load(data[wf_signed(at * stride + p * k_stride)]) : V(0);
    }
  }
  template <int pitch>
  __device__ void put(V (*tile)[pitch]) const {
    WF_UNROLL
    for (int i = 0; i < each; ++i) tile[along(i)][across(i)] = fetched[i];
  }
};

// sums += a tile's rows from y on times another's columns from x on: W neighbours, the next 64 on.
template <class V, int M, int D, int pitch>
WEFT_FN void wf_multiply_tiles(const V (*a)[pitch], const V (*b)[pitch], int y, int x,
                               V (*sums)[M]) {
  const int W = M < 4 ? M : 4;
  WF_UNROLL
  for (int p = 0; p < D; ++p) {
    wf_vector<V, W> a_row[M / W], b_row[M / W];
    WF_UNROLL
    for (int q = 0; q < M / W; ++q) {
      a_row[q] = *reinterpret_cast<const wf_vector<V, W>*>(&a[p][y + q * 64]);
      b_row[q] = *reinterpret_cast<const wf_vector<V, W>*>(&b[p][x + q * 64]);
    }
    WF_UNROLL
    for (int i = 0; i < M; ++i) {
      WF_UNROLL
      for (int j = 0; j < M; ++j)
        sums[i][j] = wf_multiply_add(a_row[i / W].v[i % W], b_row[j / W].v[j % W], sums[i][j]);
    }
  }
}

// Words: 0 a, 1 b, 2 c or room for the parts' sums, 3 m, 4 n, 5 k, 6 and 7 a's strides, 8 and 9
// b's, 10 tiles down, 11 tiles across, 12 parts of k, 13 extent of a part, 14 batch, 15 ... its
// space. Blocks of 16 x 16 threads, each of which makes M x M elements: four neighbours, the next
// 64 on.
template <class X, class Y, int M, int D, bool a_by_k, bool b_by_k, int R, class U>
WEFT_FN void wf_product(const wf_u64* w) {
  typedef typename X::value V;
  const int E = 16 * M, W = M < 4 ? M : 4, pitch = E + 4;
  __shared__ __align__(32) V a_tile[D][pitch];
  __shared__ __align__(32) V b_tile[D][pitch];
  U m = U(w[3]), n = U(w[4]), tile = U(blockIdx.x);
  U across = tile % U(w[11]), rest = tile / U(w[11]);
  U down = rest % U(w[10]);
  rest /= U(w[10]);
  U part = rest % U(w[12]), index = rest / U(w[12]);
  U offset[2] = {0, 0};
  wf_offsets<R, 2>(w + 15, index, offset);
  U k = part * U(w[13]), k_end = U(w[5]) - k < U(w[13]) ? U(w[5]) : k + U(w[13]);
  wf_panel<X, E, D, a_by_k, U> a;
  a.data = wf_pointer<const typename X::stored>(w[0]) + wf_signed(offset[0]);
  a.stride = U(w[6]), a.k_stride = U(w[7]), a.first = down * E, a.end = m;
  wf_panel<X, E, D, b_by_k, U> b;
  b.data = wf_pointer<const typename X::stored>(w[1]) + wf_signed(offset[1]);
  b.stride = U(w[9]), b.k_stride = U(w[8]), b.first = across * E, b.end = n;
  int x = int(threadIdx.x % 16) * W, y = int(threadIdx.x / 16) * W;
  V sums[M][M];
  WF_UNROLL
  for (int i = 0; i < M; ++i) {
    WF_UNROLL
    for (int j = 0; j < M; ++j) sums[i][j] = V(0);
  }
  a.fetch(k, k_end);
  b.fetch(k, k_end);
  while (k < k_end) {
    a.put(a_tile);
    b.put(b_tile);
    __syncthreads();
    k += D;
    if (k < k_end) {
      a.fetch(k, k_end);
      b.fetch(k, k_end);
    }
    wf_multiply_tiles<V, M, D>(a_tile, b_tile, y, x, sums);
    __syncthreads();
  }
  // Parts' sums stand one after the other, each as large as the result.
  typename Y::stored* c = wf_pointer<typename Y::stored>(w[2]) + (part * U(w[14]) + index) * m * n;
  WF_UNROLL
  for (int i = 0; i < M; ++i) {
    U row = down * E + U(y + i / W * 64 + i % W);
    WF_UNROLL
    for (int j = 0; j < M; ++j) {
      U column = across * E + U(x + j / W * 64 + j % W);
      if (row < m && column < n) c[row * n + column] = Y::store(sums[i][j]);
    }
  }
}

// Sums the parts in order. Words: 0 parts' sums, 1 output, 2 elements, 3 parts.
template <class V, class Y, class U>
WEFT_FN void wf_product_join(const wf_u64* w) {
  U i = wf_thread<U>(), n = U(w[2]);
  if (i >= n) return;
  const V* from = wf_pointer<const V>(w[0]) + i;
  V sum = from[0];
  for (U part = 1; part < U(w[3]); ++part) sum = wf_add(sum, from[part * n]);
  wf_pointer<typename Y::stored>(w[1])[i] = Y::store(sum);
}

#endif
