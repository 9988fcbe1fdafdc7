// Point-wise kernels row by row: a block takes as many threads for a row of the last axis as it
// has vectors, and the other axes' places are divided out once for each thread.
#include <algorithm>
#include <bit>

#include <weft/graph/error.h>

#include "fused_text.h"

namespace weft::detail {
namespace {

constexpr std::uint32_t threads = 256;
constexpr std::int64_t vector_bytes = 16;
// A heavy body is not repeated as often: its time is not the memory's, and the compiler's grows.
constexpr float light_flops = 256, most_flops = 1024;

class RowKernel {
 public:
  RowKernel(const KernelStep& step, const GpuFacts& gpu, const FusedSpace& space)
      : step_(step), space_(space), text_(writer_, step, space),
        is_wide_(!space.is_within(gpu.narrow_span)), has_rows_(space.rank > 1) {
    choose_vector();
    const std::int64_t vectors = (space.columns() + vector_ - 1) / vector_;
    lanes_ = has_rows_ ? std::min<std::int64_t>(threads, static_cast<std::int64_t>(std::bit_ceil(
                                                             static_cast<std::uint64_t>(vectors))))
                       : threads;
    if (vector_ == 1 && vectors >= 4 * threads && text_.flops() * 4 <= light_flops) units_ = 4;
    column_blocks_ = (vectors + lanes_ * units_ - 1) / (lanes_ * units_);
  }

  KernelLaunch run() {
    text_.begin();
    place();
    for (std::size_t k = 0; k < text_.input_count(); ++k) declare_source(k);
    text_.declare_targets();
    std::vector<char> in_arrays;
    std::vector<std::string> element;
    for (std::size_t k = 0; k < text_.input_count(); ++k) {
      in_arrays.push_back(text_.held(k) == Held::elements);
      element.push_back(FusedText::elements(k) + "[e]");
    }
    text_.declare_arrays(vector_ * units_, in_arrays);
    move(true);
    text_.read_rows();
    text_.compute(vector_ * units_, element);
    move(false);
    KernelLaunch launch = writer_.finish("fused", threads);
    const std::int64_t rows = space_.numel() / space_.columns();
    const std::int64_t rows_of_block = threads / lanes_;
    const std::int64_t blocks = (rows + rows_of_block - 1) / rows_of_block * column_blocks_;
    WEFT_ENSURE(blocks < std::int64_t{1} << 31);
    launch.grid[0] = static_cast<std::uint32_t>(blocks);
    return launch;
  }

 private:
  // Vectors of 16 bytes of the widest that is read or written along the row.
  void choose_vector() {
    std::size_t widest = 1;
    for (const KernelOperand& output : step_.outputs)
      widest = std::max(widest, size_of(output.dtype));
    for (std::size_t k = 0; k < text_.input_count(); ++k)
      if (space_.inner_stride(k) == 1) widest = std::max(widest, size_of(text_.input(k).dtype));
    vector_ = static_cast<int>(vector_bytes / static_cast<std::int64_t>(widest));
    while (has_rows_ && space_.columns() % vector_ != 0) vector_ /= 2;
    const float flops = text_.flops();
    while ((vector_ > 4 && flops * static_cast<float>(vector_) > light_flops) ||
           (vector_ > 1 && flops * static_cast<float>(vector_) > most_flops))
      vector_ /= 2;
    int used = 1;
    for (const KernelOperand& output : step_.outputs)
      used = std::max(used, width(output, space_.dense));
    if (used == 1) vector_ = 1;
  }

  // Elements that one instruction may move: all vectors of the operand have to be aligned.
  int width(const KernelOperand& operand, const AxisStrides& strides) const {
    int elements = vector_;
    const auto inner = static_cast<std::size_t>(space_.rank - 1);
    if (strides[inner] != 1) return 1;
    const auto fits = [&] {
      if (static_cast<std::size_t>(elements) * size_of(operand.dtype) > operand.alignment)
        return false;
      return std::all_of(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(inner),
                         [&](std::int64_t stride) { return stride % elements == 0; });
    };
    while (elements > 1 && !fits()) elements /= 2;
    return elements;
  }

  std::string index() const { return is_wide_ ? "wf_u64" : "wf_u32"; }
  std::string offset(const std::string& sum) const {
    return (is_wide_ ? "wf_i64(" : "wf_i32(") + sum + ")";
  }
  std::string count(std::int64_t value) { return index() + "(" + writer_.constant(value) + ")"; }
  void let(const std::string& name, const std::string& value) {
    writer_.line("const " + index() + " " + name + " = " + value + ";");
  }

  // The thread's row and its first column; leaves where it has none.
  void place() {
    const std::string v = std::to_string(vector_) + "u", t = std::to_string(threads) + "u";
    let("columns", count(space_.columns()));
    if (!has_rows_) {
      let("column", "(" + index() + "(blockIdx.x) * " +
                        std::to_string(threads * static_cast<std::uint32_t>(units_)) +
                        "u + threadIdx.x) * " + v);
      writer_.line("if (column >= columns) return;");
      return;
    }
    const std::string shift = count(std::countr_zero(static_cast<std::uint64_t>(lanes_)));
    writer_.line("const wf_u32 shift = " + shift + ";");
    writer_.line("const wf_u32 block = wf_divide(blockIdx.x, " +
                 writer_.word(ParamWord::Kind::constant, divisor_word(column_blocks_, false)) +
                 ");");
    writer_.line("const wf_u32 part = blockIdx.x - block * wf_u32(" +
                 writer_.constant(column_blocks_) + ");");
    let("row", "block * " + index() + "(" + t + " >> shift) + (threadIdx.x >> shift)");
    let("column", "((" + index() + "(part" +
                      (units_ > 1 ? " * " + std::to_string(units_) + "u" : std::string()) +
                      ") << shift) + (threadIdx.x & ((1u << shift) - 1u))) * " + v);
    writer_.line("if (row >= " + count(space_.numel() / space_.columns()) +
                 " || column >= columns) return;");
    const bool is_strided = [&] {
      for (std::size_t k = 0; k < text_.input_count(); ++k)
        if (!space_.is_dense(k) && !space_.is_constant(k)) return true;
      return false;
    }();
    if (is_strided) divide_row();
  }

  // Places i0, i1, ... along the axes before the last one.
  void divide_row() {
    std::string rest = "row";
    for (int axis = space_.rank - 2; axis > 0; --axis) {
      const std::int64_t extent = space_.extents[static_cast<std::size_t>(axis)];
      const std::string next = "q" + std::to_string(axis);
      let(next, "wf_divide(" + rest + ", " +
                    writer_.word(ParamWord::Kind::constant, divisor_word(extent, is_wide_)) + ")");
      let("i" + std::to_string(axis), rest + " - " + next + " * " + count(extent));
      rest = next;
    }
    let("i0", rest);
  }

  void declare_source(std::size_t k) {
    if (space_.is_constant(k)) return;
    if (space_.is_dense(k)) {
      text_.declare_source(k, has_rows_ ? offset("row * columns") : "");
      return;
    }
    std::string sum;
    for (int axis = 0; axis < space_.rank - 1; ++axis) {
      if (space_.stride(k, axis) == 0) continue;
      sum += (sum.empty() ? "i" : " + i") + std::to_string(axis) + " * " +
             count(space_.stride(k, axis));
    }
    text_.declare_source(k, sum.empty() ? "" : offset(sum));
    if (const std::int64_t stride = space_.inner_stride(k); stride != 0 && stride != 1)
      let("s" + std::to_string(k), count(stride));
  }

  std::string element_at(std::size_t k, const std::string& column) const {
    if (space_.inner_stride(k) == 1) return FusedText::source(k) + "[" + column + "]";
    return FusedText::source(k) + "[" + offset("(" + column + ") * s" + std::to_string(k)) + "]";
  }

  // Reads all inputs or writes all outputs.
  void move(bool reads) {
    if (units_ > 1) {
      begin_loop(writer_, units_);
      writer_.line("if (column + (e << " + shift_text() + ") < columns) {");
      move_elements(reads, "column + (e << " + shift_text() + ")");
      end_guarded(reads);
    } else if (vector_ == 1) {
      begin_loop(writer_, 1);
      move_elements(reads, "column");
      writer_.line("}");
    } else if (has_rows_) {
      move_vectors(reads);
    } else {
      writer_.line("if (column + " + std::to_string(vector_) + "u <= columns) {");
      move_vectors(reads);
      writer_.line("} else {");
      begin_loop(writer_, vector_);
      writer_.line("if (column + e < columns) {");
      move_elements(reads, "column + e");
      end_guarded(reads);
      writer_.line("}");
    }
  }

  std::string shift_text() const {
    return has_rows_ ? "shift" : std::to_string(std::countr_zero(std::uint64_t{threads}));
  }

  // Elements past the row's end are computed, and so have to be something.
  void end_guarded(bool reads) {
    if (reads) {
      writer_.line("} else {");
      for (std::size_t k = 0; k < text_.input_count(); ++k)
        if (text_.held(k) == Held::elements) writer_.line(FusedText::elements(k) + "[e] = 0;");
    }
    writer_.line("}");
    writer_.line("}");
  }

  void move_elements(bool reads, const std::string& column) {
    if (reads) {
      for (std::size_t k = 0; k < text_.input_count(); ++k)
        if (text_.held(k) == Held::elements)
          writer_.line(FusedText::elements(k) + "[e] = " + element_at(k, column) + ";");
      return;
    }
    for (std::size_t k = 0; k < text_.output_count(); ++k)
      writer_.line(FusedText::target(k) + "[" + (has_rows_ ? "row * columns + " : "") + column +
                   "] = " + FusedText::results(k) + "[e];");
  }

  void move_vectors(bool reads) {
    if (reads) {
      for (std::size_t k = 0; k < text_.input_count(); ++k) {
        if (text_.held(k) != Held::elements) continue;
        const std::string to = FusedText::elements(k);
        if (space_.inner_stride(k) == 1) {
          move_pieces("wf_load", width(text_.input(k), space_.strides[k]), to,
                      FusedText::source(k) + " + column");
        } else {
          begin_loop(writer_, vector_);
          writer_.line(to + "[e] = " + element_at(k, "column + e") + ";");
          writer_.line("}");
        }
      }
      return;
    }
    for (std::size_t k = 0; k < text_.output_count(); ++k)
      move_pieces("wf_store", width(text_.output(k), space_.dense),
                  FusedText::target(k) + (has_rows_ ? " + row * columns + column" : " + column"),
                  FusedText::results(k));
  }

  void move_pieces(const std::string& function, int width, const std::string& to,
                   const std::string& from) {
    for (int at = 0; at < vector_; at += width) {
      const std::string plus = at == 0 ? "" : " + " + std::to_string(at);
      writer_.line(function + "<" + std::to_string(width) + ">(" + to + plus + ", " + from + plus +
                   ");");
    }
  }

  KernelWriter writer_;
  const KernelStep& step_;
  const FusedSpace& space_;
  FusedText text_;
  const bool is_wide_, has_rows_;
  int vector_ = 1, units_ = 1;    // elements of a vector, vectors of a thread
  std::int64_t lanes_ = threads;  // threads along a row
  std::int64_t column_blocks_ = 1;
};

}  // namespace

KernelLaunch emit_rows(const KernelStep& step, const GpuFacts& gpu, const FusedSpace& space) {
  return RowKernel(step, gpu, space).run();
}

}  // namespace weft::detail
