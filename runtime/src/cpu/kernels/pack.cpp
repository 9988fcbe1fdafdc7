// Operands of products, put into panels: what tiles read side by side.
#include "vectors.h"

namespace weft::detail {
namespace {

constexpr int quad_bytes = 16;
template <class T>
constexpr int quad_lanes = quad_bytes / int(sizeof(T));
template <class T>
using Quad = typename VectorOf<T, quad_bytes>::Type;
template <class T>
WEFT_INLINE Quad<T> load_quad(const T* from) {
  return *reinterpret_cast<const typename VectorOf<T, quad_bytes>::Loose*>(from);
}
template <class T>
WEFT_INLINE void store_quad(T* to, Quad<T> x) {
  *reinterpret_cast<typename VectorOf<T, quad_bytes>::Loose*>(to) = x;
}

struct F16 {
  using Stored = wf_u16;
  static float widen(wf_u16 x) { return wf_f16_to_f32(x); }
};
struct BF16 {
  using Stored = wf_u16;
  static float widen(wf_u16 x) { return wf_bf16_to_f32(x); }
};
template <class T>
struct Same {
  using Stored = T;
  static T widen(T x) { return x; }
};

// 4 × 4 numbers, or 2 × 4 where no more are left.
WEFT_INLINE int transpose(float* to, int64_t width, const float* from, int64_t stride,
                          int64_t rows) {
  using Pair = VectorOf<double, quad_bytes>::Type;
  const Quad<float> x0 = load_quad(from), x1 = load_quad(from + stride);
  const Quad<float> low = __builtin_shufflevector(x0, x1, 0, 4, 1, 5);
  const Quad<float> high = __builtin_shufflevector(x0, x1, 2, 6, 3, 7);
  if (rows < 4) {
    const Pair pairs[2] = {reinterpret_cast<Pair>(low), reinterpret_cast<Pair>(high)};
    for (int i = 0; i < 4; ++i) {
      const double pair = pairs[i / 2][i % 2];
      __builtin_memcpy(to + i * width, &pair, sizeof pair);
    }
    return 2;
  }
  const Quad<float> x2 = load_quad(from + 2 * stride), x3 = load_quad(from + 3 * stride);
  const Quad<float> low2 = __builtin_shufflevector(x2, x3, 0, 4, 1, 5);
  const Quad<float> high2 = __builtin_shufflevector(x2, x3, 2, 6, 3, 7);
  store_quad(to, __builtin_shufflevector(low, low2, 0, 1, 4, 5));
  store_quad(to + width, __builtin_shufflevector(low, low2, 2, 3, 6, 7));
  store_quad(to + 2 * width, __builtin_shufflevector(high, high2, 0, 1, 4, 5));
  store_quad(to + 3 * width, __builtin_shufflevector(high, high2, 2, 3, 6, 7));
  return 4;
}
// 2 × 2 numbers.
WEFT_INLINE int transpose(double* to, int64_t width, const double* from, int64_t stride, int64_t) {
  const Quad<double> x0 = load_quad(from), x1 = load_quad(from + stride);
  store_quad(to, __builtin_shufflevector(x0, x1, 0, 2));
  store_quad(to + width, __builtin_shufflevector(x0, x1, 1, 3));
  return 2;
}

// Rows that lie along memory become columns of the panel.
template <class T, int width>
void pack_rows(T* packed, const T* x, int64_t stride, int64_t rows, int64_t terms) {
  constexpr int step = quad_lanes<T>;
  int64_t i = 0;
  while (rows - i >= 2) {
    int done = 0;
    int64_t p = 0;
    for (; p + step <= terms; p += step) {
      if (p % 16 == 0)
        for (int r = 0; r < 4; ++r) __builtin_prefetch(x + (i + 4 + r) * stride + p);
      done = transpose(packed + p * width + i, width, x + i * stride + p, stride, rows - i);
    }
    if (done == 0) break;
    for (; p < terms; ++p)
      for (int r = 0; r < done; ++r) packed[p * width + i + r] = x[(i + r) * stride + p];
    i += done;
  }
  for (; i < rows; ++i)
    for (int64_t p = 0; p < terms; ++p) packed[p * width + i] = x[i * stride + p];
}

// The same, numbers widened on the way.
template <class D, int width>
void pack_rows(float* packed, const wf_u16* x, int64_t stride, int64_t rows, int64_t terms) {
  constexpr int64_t most = 64;
  alignas(64) float wide[width * most];
  for (int64_t first = 0; first < terms; first += most) {
    const int64_t count = terms - first < most ? terms - first : most;
    for (int64_t i = 0; i < rows; ++i) {
      const wf_u16* __restrict from = x + i * stride + first;
      float* __restrict to = wide + i * most;
      WEFT_EACH
      for (int64_t p = 0; p < count; ++p) to[p] = D::widen(from[p]);
    }
    pack_rows<float, width>(packed + first * width, wide, most, rows, count);
  }
}

// Where memory runs across panels: few terms of all panels, so that lines and pages are met once.
template <class T, class D, int width>
void pack_columns(T* __restrict packed, int64_t panel, const typename D::Stored* __restrict x,
                  int64_t along, int64_t panels, int64_t terms) {
  constexpr int64_t most = 8;
  for (int64_t first = 0; first < terms; first += most) {
    const int64_t end = terms - first < most ? terms : first + most;
    for (int64_t i = 0; i < panels; ++i)
      for (int64_t p = first; p < end; ++p) {
        T* __restrict to = packed + i * panel + p * width;
        const typename D::Stored* __restrict from = x + p * along + i * width;
        WEFT_EACH
        for (int j = 0; j < width; ++j) to[j] = D::widen(from[j]);
      }
  }
}

// A panel; what is missing to its width becomes 0.
template <class T, class D, int width>
void pack_panel(T* __restrict packed, const typename D::Stored* __restrict x, int64_t across,
                int64_t along, int64_t count, int64_t terms) {
  if (along == 1 && count > 1) {
    // So many that the panel's part stays in the nearest cache while groups of rows pass.
    constexpr int64_t most = 128;
    for (int64_t p = 0; p < terms; p += most) {
      const int64_t part = terms - p < most ? terms - p : most;
      if constexpr (sizeof(T) == sizeof(typename D::Stored))
        pack_rows<T, width>(packed + p * width, x + p, across, count, part);
      else
        pack_rows<D, width>(packed + p * width, x + p, across, count, part);
    }
  } else {
    for (int64_t p = 0; p < terms; ++p)
      for (int64_t i = 0; i < count; ++i)
        packed[p * width + i] = D::widen(x[p * along + i * across]);
  }
  for (int64_t p = 0; count < width && p < terms; ++p)
    for (int64_t i = count; i < width; ++i) packed[p * width + i] = T(0);
}

template <class T, class D, int width>
void pack(T* packed, int64_t panel, const void* px, int64_t across, int64_t along, int64_t count,
          int64_t terms) {
  const auto* x = static_cast<const typename D::Stored*>(px);
  int64_t i = 0;
  if (across == 1) {
    i = count / width * width;
    pack_columns<T, D, width>(packed, panel, x, along, count / width, terms);
  }
  for (; i < count; i += width)
    pack_panel<T, D, width>(packed + i / width * panel, x + i * across, across, along,
                            count - i < width ? count - i : width, terms);
}

}  // namespace

void WEFT_ISA_NAME(fill_pack_)(ProductTable& table) {
  // In the order of DType.
  table.f32.pack_a[0] = pack<float, F16, tile_rows>;
  table.f32.pack_a[1] = pack<float, BF16, tile_rows>;
  table.f32.pack_a[2] = pack<float, Same<float>, tile_rows>;
  table.f64.pack_a[3] = pack<double, Same<double>, tile_rows>;
  table.f32.pack_b[0] = pack<float, F16, tile_columns<float>>;
  table.f32.pack_b[1] = pack<float, BF16, tile_columns<float>>;
  table.f32.pack_b[2] = pack<float, Same<float>, tile_columns<float>>;
  table.f64.pack_b[3] = pack<double, Same<double>, tile_columns<double>>;
}

}  // namespace weft::detail
