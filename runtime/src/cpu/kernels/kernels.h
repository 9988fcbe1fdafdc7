// The table of kernels that are compiled once per instruction set. Raw pointers only, and nothing
// that a compiler could emit as a shared (weak) symbol: these files see no other header of weft.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace weft::detail {

/// Elements of a block. Fewer cost more calls (64: by a fifth in cache, with AVX2); with more, memory
/// and arithmetic take turns instead of overlapping.
constexpr int block_size = 128;
/// Bytes of one block of the widest class.
constexpr int block_bytes = block_size * 8;
/// The one tree of reductions: elements of a chunk, lanes, elements of a lane.
constexpr int chunk_size = 4096, lane_count = 512, lane_adds = 8;

/// Numbers equal to those of OpId.
enum KernelOp : int {
#define WEFT_OP_POINTWISE(name, ...) kernel_op_##name,
#define WEFT_OP_STRUCTURED(name, ...) kernel_op_##name,
#include <weft/graph/detail/ops.def>
  kernel_op_count
};

/// Numbers equal to those of ComputeClass and DType.
enum KernelClass : int { class_f32, class_f64, class_i32, class_i64, kernel_class_count };
enum KernelDType : int { kernel_dtype_count = 9 };

enum Reduction : int { reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_any, reduce_all,
                       reduction_count };

/// result[i] = f(x[i], y[i], z[i]) over one block; the result overlaps no operand.
using BlockFn = void (*)(void* result, const void* x, const void* y, const void* z);

/// Two ops of floats in one pass: result = second(first(x, y), z).
enum PairFirst : int { first_add, first_sub, first_mul, pair_first_count };
enum PairSecond : int { second_add, second_sub, second_sub_from, second_mul, pair_second_count };

/// Reductions compute in the class of their operand; sums and products of i32 in i64; any and all
/// give i32.
struct ReduceKernels {
  /// *result = x[0] ⊕ ... ⊕ x[n-1], 1 <= n <= chunk_size, by the tree of one chunk.
  void (*chunk)(void* result, const void* x, int64_t n);
  /// result[j] = x[j] ⊕ x[stride+j] ⊕ ... over `rows` rows, in order, for j < columns.
  void (*lanes)(void* result, const void* x, int64_t stride, int64_t rows, int64_t columns);
  /// a[j] = a[j] ⊕ b[j], both of the result's class.
  void (*combine)(void* a, const void* b, int64_t n);
  /// Whether the bits are the same in any order.
  bool is_any_order;
};

/// The one pattern of scans: elements of a lane, lanes of a chunk, elements of a chunk; most lines
/// that are scanned together.
constexpr int scan_lane = 16, scan_lanes = 32, scan_chunk = scan_lane * scan_lanes;
constexpr int scan_columns = 64;

enum Scan : int { scan_sum, scan_prod, scan_logsumexp, scan_count };

/// Scans compute in the class of their operand; sums and products of i32 in i64; logs of sums exist
/// in floats alone. x has `rows` <= scan_chunk rows of `columns` <= scan_columns lines, side by side;
/// the result is as large and may be x where it is of the same class. `before`, a row or null, is
/// what stands before the chunk. `end`, a row or null, gets the last row without that; with an end
/// alone, the result may be null.
using ScanFn = void (*)(void* result, const void* x, int64_t rows, int64_t columns,
                        const void* before, void* end);

/// The extreme element of a sequence and the index of its first occurrence; NaN is the extreme of
/// both kinds. `best` is an element of the operand's class.
struct ArgKernels {
  /// Over x[0..n), whose first element has index `base`; with base 0 the old best is ignored.
  void (*chunk)(void* best, int64_t* index, const void* x, int64_t n, int64_t base);
  /// For each column j on its own: element x[j] has index `base`.
  void (*columns)(void* best, int64_t* index, const void* x, int64_t n, int64_t base);
};

/// c[m,n] = a[m,k] b[k,n], wrapping; all of one class. Strides in elements.
using IntegerProductFn = void (*)(void* c, int64_t c_stride, const void* a, int64_t a_row,
                                  int64_t a_column, const void* b, int64_t b_stride, int64_t m,
                                  int64_t n, int64_t k);

/// c[m,n] = a[m,k] b[k,n] in floats of one class, in strict order: each element starts with +0 and
/// takes k ascending, one fma a term, and where `ends_with_zero` the term 0·0 at the end. Strides in
/// elements; n is a multiple of strict_columns.
constexpr int strict_columns = 32;
using StrictProductFn = void (*)(void* c, int64_t c_stride, const void* a, int64_t a_row,
                                 int64_t a_column, const void* b, int64_t b_stride, int64_t m,
                                 int64_t n, int64_t k, bool ends_with_zero);

/// Elements first .. first+n-1 of a random tensor.
using RandomFn = void (*)(void* result, int64_t first, int64_t n, uint64_t seed, uint64_t call);

struct KernelTable {
  const char* level;
  BlockFn pointwise[kernel_op_count][kernel_class_count];  // null where there is none
  BlockFn pair[2][pair_first_count][pair_second_count];    // f32, f64
  BlockFn cast[kernel_class_count][kernel_dtype_count];    // to a value of the dtype, in its class
  BlockFn load[kernel_dtype_count];                        // storage to class
  BlockFn store[kernel_dtype_count];                       // class to storage, of values of the dtype
  // By log2 of the element's bytes.
  void (*gather[4])(void* result, const void* x, int64_t stride, int64_t n);
  void (*scatter[4])(void* result, int64_t stride, const void* x, int64_t n);
  void (*fill[4])(void* result, const void* x, int64_t n);
  /// Copies multiples of 64 bytes to a 64-byte aligned place past the caches.
  void (*stream)(void* result, const void* x, size_t bytes);
  /// After the last stream, before another thread is told.
  void (*stream_fence)();
  ReduceKernels reduce[reduction_count][kernel_class_count];
  ArgKernels arg[2][kernel_class_count];  // greatest, least
  ScanFn scan[scan_count][kernel_class_count];
  IntegerProductFn integer_product[kernel_class_count];
  StrictProductFn strict_product[2];  // f32, f64
  RandomFn uniform[2], normal[2];  // f32, f64
  void (*integers)(int64_t* result, int64_t first, int64_t n, uint64_t seed, uint64_t call, int64_t low,
                   uint64_t span);
  void (*keys)(uint64_t* result, int64_t first, int64_t n, uint64_t seed, uint64_t call);
};

/// A block of a float product, c[m,n] = a[m,k] b[k,n] or c += a b; strides in elements. Tile t of a's
/// rows, `rows` high, begins at a + t·a_tile, strip s of b's columns at b + s·b_strip. Whole strips of b are read,
/// also where n ends within one.
template <class T>
struct ProductBlock {
  T* c;
  const T* a;
  const T* b;
  int64_t m, n, k;
  int64_t c_stride;
  int64_t rows;  // of a tile, at most as many as the level's tiles have
  int64_t a_tile, a_row, a_column;
  int64_t b_strip, b_row;
  bool adds;
};

/// Puts an operand's elements into panels as wide as a tile: element (i, p), at x[i·across + p·along],
/// goes to packed[i / width · panel + p · width + i % width], for i < count and p < terms. The last
/// panel is filled up with zeros. `x` is storage of the dtype.
template <class T>
using PackFn = void (*)(T* packed, int64_t panel, const void* x, int64_t across, int64_t along,
                        int64_t count, int64_t terms);

/// y[i] = Σ x[p] a[i·stride + p] for i < rows: each sum in a few vectors, joined at its end.
template <class T>
using DotsFn = void (*)(T* y, const T* a, int64_t stride, const T* x, int64_t rows, int64_t terms);
/// y[j] = Σ x[p] b[p·stride + j] for j < columns, or y[j] += that where it `adds`; p ascending.
template <class T>
using RowSumsFn = void (*)(T* y, const T* b, int64_t stride, const T* x, int64_t columns, int64_t terms,
                           bool adds);

/// How float products are cut at a level: constants, so that the shape alone decides the order of sums.
template <class T>
struct ProductKernels {
  int64_t rows, columns;  // of a tile of c
  int64_t terms;          // of a good block: a strip of b stays in the nearest cache
  void (*block)(const ProductBlock<T>&);
  PackFn<T> pack_a[4], pack_b[4];  // by dtype: f16, bf16, f32, f64; null for another class
  DotsFn<T> dots;
  RowSumsFn<T> row_sums;
};

struct ProductTable {
  ProductKernels<float> f32;
  ProductKernels<double> f64;
};

#define WEFT_DECLARE_LEVEL(level)                 \
  void fill_pointwise_##level(KernelTable&);      \
  void fill_pairs_##level(KernelTable&);          \
  void fill_convert_##level(KernelTable&);        \
  void fill_reduce_##level(KernelTable&);         \
  void fill_scan_##level(KernelTable&);           \
  void fill_integers_##level(KernelTable&);       \
  void fill_strict_##level(KernelTable&);         \
  void fill_random_##level(KernelTable&);         \
  void fill_gemm_##level(ProductTable&);          \
  void fill_pack_##level(ProductTable&);          \
  void fill_gemv_##level(ProductTable&);
WEFT_DECLARE_LEVEL(base)
WEFT_DECLARE_LEVEL(v2)
WEFT_DECLARE_LEVEL(v3)
WEFT_DECLARE_LEVEL(v4)
#undef WEFT_DECLARE_LEVEL

}  // namespace weft::detail
