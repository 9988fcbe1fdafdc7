// Vectors of the level's width, by the extensions that GCC and Clang share.
#pragma once

#include "isa.h"

/// Before a loop of few, known iterations whose values are to stay in registers.
#if defined(__clang__)
#define WEFT_UNROLL_ALL _Pragma("clang loop unroll(full)")
#else
#define WEFT_UNROLL_ALL _Pragma("GCC unroll 32")
#endif
#define WEFT_INLINE [[gnu::always_inline]] inline

namespace weft::detail {
namespace {  // widths differ from level to level

template <class T, int bytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(bytes)));
  typedef T Loose __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T, WEFT_VECTOR_BYTES>::Type;
template <class T>
constexpr int lanes = WEFT_VECTOR_BYTES / int(sizeof(T));

template <class T>
WEFT_INLINE Vector<T> load(const T* from) {
  return *reinterpret_cast<const typename VectorOf<T, WEFT_VECTOR_BYTES>::Loose*>(from);
}
template <class T>
WEFT_INLINE void store(T* to, Vector<T> x) {
  *reinterpret_cast<typename VectorOf<T, WEFT_VECTOR_BYTES>::Loose*>(to) = x;
}

// What a tile of a product is at this level: rows, and vectors in a row. Its sums, a row of b and
// an element of a fill the registers.
#if defined(__AVX512F__)
constexpr int tile_rows = 12, tile_vectors = 2;
#elif defined(__AVX2__)
constexpr int tile_rows = 6, tile_vectors = 2;
#elif defined(__aarch64__)
constexpr int tile_rows = 8, tile_vectors = 3;
#else
constexpr int tile_rows = 4, tile_vectors = 2;
#endif
template <class T>
constexpr int tile_columns = tile_vectors* lanes<T>;

}  // namespace
}  // namespace weft::detail
