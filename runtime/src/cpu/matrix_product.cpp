// Products of float matrices: blocks of the operands, put side by side, pass through the level's
// tiles. The work is split over rows and columns of the result alone, so that the order of an
// element's sum is given by k.
#include <algorithm>

#include "cpu/matrices.h"
#include "cpu/pool.h"
#include "cpu/workspace.h"

namespace weft::detail {
namespace {

// Rows of a and columns of b whose blocks stay in a core's own cache together.
constexpr std::int64_t region_rows = 288, region_columns = 128;
// Above so many rows, b is packed by all threads and then used by all; below, by whom it is used.
constexpr std::int64_t shared_rows = 128;
constexpr std::int64_t shared_bytes = std::int64_t{8} << 20;  // of b

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

/// A rectangle of c.
struct Region {
  std::int64_t row, rows, column, columns;
};

template <class T>
class Multiplication {
 public:
  Multiplication(const MatrixProduct& of, const ProductKernels<T>& kernels)
      : of_(of), kernels_(kernels), m_(of.a.rows), n_(of.b.columns), k_(of.a.columns),
        size_(static_cast<std::int64_t>(size_of(of.dtype))), is_stored_(is_class_storage(of.dtype)),
        is_small_(m_ * n_ * k_ < parallel_products) {
    terms_ = block_terms(k_, kernels.terms);
    const auto is_near = [&](std::int64_t stride, std::int64_t bytes) {
      return stride >= 0 && stride * size_ <= bytes;
    };
    if (!is_stored_) return;
    const Matrix &a = of.a, &b = of.b;
    // What is read few times is not worth packing, unless each line of it is on another page.
    reads_a_ = is_small_ ||
               (a.column_stride == 1 && (n_ <= 2 * region_columns || m_ <= shared_rows)) ||
               (a.row_stride == 1 && is_near(a.column_stride, 256));
    reads_b_ = b.column_stride == 1 &&
               (m_ <= kernels.rows || (m_ <= 2 * kernels.rows && is_near(b.row_stride, 2048)));
  }

  void run() const {
    if (m_ > shared_rows)
      multiply_by_rows();
    else
      multiply_by_columns();
  }

 private:
  template <class F>
  void each(std::int64_t count, const F& body) const {
    if (!is_small_) return parallel_for(count, body);
    for (std::int64_t i = 0; i < count; ++i) body(i);
  }

  // How many parts make a good share of the work for each thread.
  std::int64_t parts() const { return is_small_ || num_threads() == 1 ? 1 : 4 * num_threads(); }

  void multiply_by_rows() const {
    const std::int64_t width = kernels_.columns;
    const std::int64_t chunk = std::max(
        region_columns, shared_bytes / static_cast<std::int64_t>(sizeof(T)) / k_ / width * width);
    const std::int64_t most = region_rows * 4 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t rows =
        round_up(divide_up(m_, std::max(parts(), divide_up(m_, most))), kernels_.rows);
    const Scratch room(static_cast<std::size_t>(k_ * round_up(std::min(n_, chunk), width)) *
                       sizeof(T));
    T* const packed = room.template as<T>();
    for (std::int64_t j = 0; j < n_; j += chunk) {
      const std::int64_t columns = std::min(chunk, n_ - j);
      const std::int64_t strips = divide_up(columns, width);
      const std::int64_t together =
          std::max<std::int64_t>(1, std::min(strips / 4, 65536 / (k_ * width)));
      each(divide_up(strips, together), [&](std::int64_t part) {
        const std::int64_t s = part * together * width;
        pack_b(packed + s * k_, j + s, std::min(together * width, columns - s), 0, k_);
      });
      each(divide_up(m_, rows), [&](std::int64_t part) {
        const std::int64_t i = part * rows;
        multiply_region({i, std::min(rows, m_ - i), j, columns}, packed, k_ * width);
      });
    }
  }

  void multiply_by_columns() const {
    const std::int64_t width = kernels_.columns;
    const std::int64_t columns =
        std::min(round_up(divide_up(n_, parts()), width), round_up(region_columns, width));
    // What is read in place is read in whole strips: the last columns are packed.
    const std::int64_t whole = reads_b_ ? n_ / width * width : n_;
    const std::int64_t count = divide_up(whole, columns);
    each(count + (whole < n_), [&](std::int64_t part) {
      const std::int64_t j = std::min(part * columns, whole);
      multiply_region({0, m_, j, std::min(columns, (part < count ? whole : n_) - j)}, nullptr, 0);
    });
  }

  void pack_b(T* packed, std::int64_t j, std::int64_t columns, std::int64_t p,
              std::int64_t terms) const {
    const Matrix& b = of_.b;
    kernels_.pack_b[index_of(of_.dtype)](packed, kernels_.columns * terms,
                                         b.data + (p * b.row_stride + j * b.column_stride) * size_,
                                         b.column_stride, b.row_stride, columns, terms);
  }

  // b packed already, with so much between its strips, or null.
  void multiply_region(const Region& region, const T* packed_b, std::int64_t strip) const {
    const std::int64_t width = kernels_.columns;
    const std::int64_t depth = std::min(terms_, k_);
    const Scratch room_a(reads_a_ ? 0
                                  : bytes_of_block(round_up(region.rows, kernels_.rows), depth));
    const bool packs_b = !packed_b && !(reads_b_ && region.columns % width == 0);
    const Scratch room_b(!packs_b ? 0 : bytes_of_block(round_up(region.columns, width), depth));
    const Scratch room_c(is_stored_ ? 0 : bytes_of_block(region.rows, region.columns));
    ProductBlock<T> block{};
    block.c = is_stored_ ? reinterpret_cast<T*>(of_.c) + region.row * n_ + region.column
                         : room_c.template as<T>();
    block.c_stride = is_stored_ ? n_ : region.columns;
    block.m = region.rows;
    for (std::int64_t p = 0; p < k_; p += terms_) {
      block.k = std::min(terms_, k_ - p);
      block.adds = p > 0;
      block.n = region.columns;
      set_a(block, region, p, room_a.template as<T>());
      set_b(block, region, p, packed_b, strip);
      if (packs_b) {
        block.b = room_b.template as<T>();
        pack_b(room_b.template as<T>(), region.column, region.columns, p, block.k);
      }
      if (p + terms_ < k_)
        kernels_.block(block);
      else
        finish(block, region);
    }
  }

  static std::size_t bytes_of_block(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns) * sizeof(T);
  }

  void set_a(ProductBlock<T>& block, const Region& region, std::int64_t p, T* room) const {
    const Matrix& a = of_.a;
    const char* const first = a.data + (region.row * a.row_stride + p * a.column_stride) * size_;
    block.rows = kernels_.rows;
    if (reads_a_) {
      block.a = reinterpret_cast<const T*>(first);
      block.a_row = a.row_stride;
      block.a_column = a.column_stride;
      block.rows = divide_up(block.m, divide_up(block.m, kernels_.rows));
      block.a_tile = block.rows * a.row_stride;
    } else {
      block.a = room;
      block.a_row = 1;
      block.a_column = kernels_.rows;
      block.a_tile = kernels_.rows * block.k;
      kernels_.pack_a[index_of(of_.dtype)](room, block.a_tile, first, a.row_stride, a.column_stride,
                                           block.m, block.k);
    }
  }

  // As b lies packed for all, in place, or will lie when it is packed.
  void set_b(ProductBlock<T>& block, const Region& region, std::int64_t p, const T* packed,
             std::int64_t strip) const {
    const Matrix& b = of_.b;
    block.b_row = kernels_.columns;
    if (packed) {
      block.b = packed + p * kernels_.columns;
      block.b_strip = strip;
    } else if (reads_b_ && region.columns % kernels_.columns == 0) {
      block.b = reinterpret_cast<const T*>(b.data) + p * b.row_stride + region.column;
      block.b_strip = kernels_.columns;
      block.b_row = b.row_stride;
    } else {
      block.b_strip = kernels_.columns * block.k;
    }
  }

  // The last block of k: groups of columns are finished one by one.
  void finish(ProductBlock<T>& block, const Region& region) const {
    const std::int64_t width = kernels_.columns, group = round_up(region_columns, width);
    for (std::int64_t j = 0; j < region.columns; j += group) {
      block.n = std::min(group, region.columns - j);
      kernels_.block(block);
      if (!is_stored_) store(block, region.row, region.column + j);
      of_.finished(of_.first_row + region.row, region.rows, region.column + j, block.n);
      block.c += group;
      block.b += group / width * block.b_strip;
    }
  }

  void store(const ProductBlock<T>& block, std::int64_t row, std::int64_t column) const {
    for (std::int64_t i = 0; i < block.m; ++i)
      write_row(of_.dtype, of_.c + ((row + i) * n_ + column) * size_, compute_class(of_.dtype),
                block.c + i * block.c_stride, block.n);
  }

  const MatrixProduct& of_;
  const ProductKernels<T>& kernels_;
  const std::int64_t m_, n_, k_, size_;
  const bool is_stored_;  // c and the operands are stored as they are computed
  const bool is_small_;
  bool reads_a_ = false, reads_b_ = false;  // in place
  std::int64_t terms_ = 0;
};

}  // namespace

template <class T>
void multiply_matrices(const MatrixProduct& product, const ProductKernels<T>& kernels) {
  Multiplication<T>(product, kernels).run();
}
template void multiply_matrices(const MatrixProduct&, const ProductKernels<float>&);
template void multiply_matrices(const MatrixProduct&, const ProductKernels<double>&);

}  // namespace weft::detail
