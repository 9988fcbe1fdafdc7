// Blocks of float products: tiles of c that stay in registers while k runs over packed operands, as
// in Goto and van de Geijn, Anatomy of high-performance matrix multiplication (ACM TOMS 34, 2008),
// and Van Zee and van de Geijn, BLIS: a framework for rapidly instantiating BLAS functionality (ACM
// TOMS 41, 2015). Compiled with contraction on: a product and the sum that it goes into are one fma
// where the level has that.
#include "vectors.h"

namespace weft::detail {
namespace {

constexpr int64_t block_terms = 256;

/// Where the operands of a tile begin; its row i and term p of a are at a[i·a_row + p·a_column].
template <class T>
struct Tile {
  const T* a;
  const T* b;
  int64_t a_row, a_column, b_row, k;
  bool adds;
};

// c = a b, or c += a b. The sum of a block starts with 0 and takes k ascending, whatever the height
// and width of a tile.
template <class T, int rows, int vectors, bool is_packed>
void multiply(const Tile<T>& of, T* __restrict c, int64_t c_stride) {
  constexpr int width = lanes<T>;
  const T* __restrict a = of.a;
  const T* __restrict b = of.b;
  const int64_t a_row = is_packed ? 1 : of.a_row;
  const int64_t a_column = is_packed ? tile_rows : of.a_column;
  const int64_t b_row = is_packed ? tile_columns<T> : of.b_row;
  WEFT_UNROLL_ALL
  for (int i = 0; i < rows; ++i) __builtin_prefetch(c + i * c_stride + vectors * width - 1, 1);
  Vector<T> sums[rows][vectors] = {};
  const auto add_term = [&]() __attribute__((always_inline)) {
    Vector<T> row[vectors];
    WEFT_UNROLL_ALL
    for (int j = 0; j < vectors; ++j) row[j] = load(b + j * width);
    WEFT_UNROLL_ALL
    for (int i = 0; i < rows; ++i) {
      const T factor = a[i * a_row];
      WEFT_UNROLL_ALL
      for (int j = 0; j < vectors; ++j) sums[i][j] += factor * row[j];
    }
    a += a_column;
    b += b_row;
  };
  int64_t p = of.k;
  if constexpr (is_packed)
    for (; p >= 4; p -= 4) {
      add_term();
      add_term();
      add_term();
      add_term();
    }
  for (; p > 0; --p) add_term();
  WEFT_UNROLL_ALL
  for (int i = 0; i < rows; ++i) {
    WEFT_UNROLL_ALL
    for (int j = 0; j < vectors; ++j) {
      T* const place = c + i * c_stride + j * width;
      store<T>(place, of.adds ? load(place) + sums[i][j] : sums[i][j]);
    }
  }
}

template <class T>
using TileFn = void (*)(const Tile<T>&, T* c, int64_t c_stride);

template <class T>
struct Tiles {
  TileFn<T> whole;                           // packed
  TileFn<T> other[tile_vectors][tile_rows];  // by vectors - 1, rows - 1
};

template <class T, int vectors, int rows>
constexpr void fill(Tiles<T>& tiles) {
  tiles.other[vectors - 1][rows - 1] = multiply<T, rows, vectors, false>;
  if constexpr (rows > 1)
    fill<T, vectors, rows - 1>(tiles);
  else if constexpr (vectors > 1)
    fill<T, vectors - 1, tile_rows>(tiles);
}
template <class T>
constexpr Tiles<T> make_tiles() {
  Tiles<T> tiles{};
  tiles.whole = multiply<T, tile_rows, tile_vectors, true>;
  fill<T, tile_vectors, tile_rows>(tiles);
  return tiles;
}
template <class T>
constexpr Tiles<T> tiles_of = make_tiles<T>();

// A tile that is wider than what is left of c, by way of a copy.
template <class T>
void multiply_edge(TileFn<T> multiply_tile, const Tile<T>& tile, T* c, int64_t c_stride, int rows,
                   int columns) {
  alignas(64) T copy[tile_rows * tile_columns<T>];
  Tile<T> fresh = tile;
  fresh.adds = false;
  multiply_tile(fresh, copy, tile_columns<T>);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      T& place = c[i * c_stride + j];
      const T sum = copy[i * tile_columns<T> + j];
      place = tile.adds ? place + sum : sum;
    }
}

template <class T>
void multiply_block(const ProductBlock<T>& block) {
  constexpr int width = tile_columns<T>;
  const bool is_packed = block.a_row == 1 && block.a_column == tile_rows && block.b_row == width;
  const int height = int(block.rows);
  for (int64_t j = 0, strip = 0; j < block.n; j += width, ++strip) {
    const int columns = block.n - j < width ? int(block.n - j) : width;
    const int vectors = (columns + lanes<T> - 1) / lanes<T>;
    Tile<T> tile{nullptr,     block.b + strip * block.b_strip,
                 block.a_row, block.a_column,
                 block.b_row, block.k,
                 block.adds};
    for (int64_t i = 0, down = 0; i < block.m; i += height, ++down) {
      const int rows = block.m - i < height ? int(block.m - i) : height;
      T* const c = block.c + i * block.c_stride + j;
      tile.a = block.a + down * block.a_tile;
      if (is_packed && j + width < block.n) {
        // A part of the next strip, on its way while this one is used.
        const char* const next = reinterpret_cast<const char*>(tile.b + block.b_strip);
        const int64_t lines = block.k * width * int64_t(sizeof(T)) / 64;
        const int64_t each = lines * height / block.m + 1;
        for (int64_t line = down * each; line < (down + 1) * each && line < lines; ++line)
          __builtin_prefetch(next + line * 64, 0, 2);
      }
      const TileFn<T> multiply_tile = is_packed && rows == tile_rows && vectors == tile_vectors
                                          ? tiles_of<T>.whole
                                          : tiles_of<T>.other[vectors - 1][rows - 1];
      if (columns == vectors * lanes<T>)
        multiply_tile(tile, c, block.c_stride);
      else
        multiply_edge(multiply_tile, tile, c, block.c_stride, rows, columns);
    }
  }
}

}  // namespace

void WEFT_ISA_NAME(fill_gemm_)(ProductTable& table) {
  table.f32.rows = table.f64.rows = tile_rows;
  table.f32.columns = tile_columns<float>;
  table.f64.columns = tile_columns<double>;
  table.f32.terms = table.f64.terms = block_terms;
  table.f32.block = multiply_block<float>;
  table.f64.block = multiply_block<double>;
}

}  // namespace weft::detail
