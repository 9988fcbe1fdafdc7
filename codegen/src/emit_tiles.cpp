// Point-wise kernels whose inputs stand across the outputs' rows: square tiles pass through shared
// memory, so that both are read and written along their own rows.
#include <algorithm>

#include <weft/graph/error.h>

#include "fused_text.h"

namespace weft::detail {
namespace {

constexpr std::int64_t tile = 32;
constexpr std::uint32_t threads = 256;
constexpr int rows_of_thread = tile * tile / threads;
// A smaller part of a tile is read faster by what the caches keep.
constexpr std::int64_t least_extent = 16;
constexpr std::size_t most_shared = 40 * 1024;

bool is_turned(const FusedSpace& space, std::size_t input, int axis) {
  const std::int64_t inner = space.inner_stride(input), outer = space.stride(input, axis);
  return inner != 0 && std::abs(inner) > 1 && std::abs(outer) == 1;
}

class TileKernel {
 public:
  TileKernel(const KernelStep& step, const GpuFacts& gpu, const FusedSpace& space, int axis)
      : space_(space), axis_(axis), text_(writer_, step, space),
        is_wide_(!space.is_within(gpu.narrow_span)), tiles_x_((space.columns() + tile - 1) / tile),
        tiles_y_((extent(axis) + tile - 1) / tile) {
    text_.hold_each();
    std::size_t shared = 0;
    for (std::size_t k = 0; k < text_.input_count(); ++k) {
      const std::size_t bytes = tile * (tile + 1) * size_of(text_.input(k).dtype);
      turned_.push_back(is_turned(space, k, axis) && shared + bytes <= most_shared);
      if (turned_.back()) shared += bytes;
    }
  }

  KernelLaunch run() {
    text_.begin();
    place();
    std::vector<char> in_arrays;
    std::vector<std::string> element;
    for (std::size_t k = 0; k < text_.input_count(); ++k) {
      if (!space_.is_constant(k)) declare_source(k);
      in_arrays.push_back(!space_.is_constant(k) && !turned_[k]);
      element.push_back(turned_[k] ? tile_name(k) + "[warp + 8 * e][lane]"
                                   : FusedText::elements(k) + "[e]");
    }
    text_.declare_targets();
    text_.declare_arrays(rows_of_thread, in_arrays);
    read_turned();
    read_others();
    writer_.line("__syncthreads();");
    text_.compute(rows_of_thread, element);
    write();
    KernelLaunch launch = writer_.finish("fused", threads);
    std::int64_t blocks = tiles_x_ * tiles_y_;
    for (int axis = 0; axis < space_.rank - 1; ++axis)
      if (axis != axis_) blocks *= extent(axis);
    WEFT_ENSURE(blocks < std::int64_t{1} << 31);
    launch.grid[0] = static_cast<std::uint32_t>(blocks);
    return launch;
  }

 private:
  std::int64_t extent(int axis) const { return space_.extents[static_cast<std::size_t>(axis)]; }
  std::string index() const { return is_wide_ ? "wf_u64" : "wf_u32"; }
  std::string count(std::int64_t value) { return index() + "(" + writer_.constant(value) + ")"; }
  std::string offset(const std::string& sum) const {
    return (is_wide_ ? "wf_i64(" : "wf_i32(") + sum + ")";
  }
  static std::string tile_name(std::size_t input) { return "t" + std::to_string(input); }
  void let(const std::string& name, const std::string& value) {
    writer_.line("const " + index() + " " + name + " = " + value + ";");
  }

  // Takes one extent off the block's number: its place along it is `name`.
  std::string take(const std::string& rest, const std::string& name, std::int64_t divisor) {
    const std::string next = "n" + std::to_string(++divisions_);
    writer_.line("const wf_u32 " + next + " = wf_divide(" + rest + ", " +
                 writer_.word(ParamWord::Kind::constant, divisor_word(divisor, false)) + ");");
    writer_.line("const wf_u32 " + name + " = " + rest + " - " + next + " * wf_u32(" +
                 writer_.constant(divisor) + ");");
    return next;
  }

  void place() {
    std::string rest = take("blockIdx.x", "tile_x", tiles_x_);
    rest = take(rest, "tile_y", tiles_y_);
    for (int axis = space_.rank - 2; axis >= 0; --axis)
      if (axis != axis_) rest = take(rest, "i" + std::to_string(axis), extent(axis));
    writer_.line("const wf_u32 lane = threadIdx.x & 31u, warp = threadIdx.x >> 5;");
    let("columns", count(space_.columns()));
    let("rows", count(extent(axis_)));
    let("x", index() + "(tile_x) * 32u");
    let("y", index() + "(tile_y) * 32u");
  }

  // Of the axes that a block does not move along.
  std::string outer_sum(const AxisStrides& strides) {
    std::string sum;
    for (int axis = 0; axis < space_.rank - 1; ++axis) {
      const std::int64_t stride = strides[static_cast<std::size_t>(axis)];
      if (axis != axis_ && stride != 0)
        sum += (sum.empty() ? "i" : " + i") + std::to_string(axis) + " * " + count(stride);
    }
    return sum;
  }

  void declare_source(std::size_t k) {
    const std::string sum = outer_sum(space_.strides[k]);
    text_.declare_source(k, sum.empty() ? "" : offset(sum));
    const std::string number = std::to_string(k);
    let("sx" + number, count(space_.inner_stride(k)));
    let("sy" + number, count(space_.stride(k, axis_)));
  }

  std::string element_at(std::size_t k, const std::string& column, const std::string& row) const {
    const std::string number = std::to_string(k);
    return FusedText::source(k) + "[" +
           offset("(" + column + ") * sx" + number + " + (" + row + ") * sy" + number) + "]";
  }

  void read_turned() {
    for (std::size_t k = 0; k < text_.input_count(); ++k)
      if (turned_[k])
        writer_.line("__shared__ " + storage_type(text_.input(k).dtype) + " " + tile_name(k) +
                     "[32][33];");
    begin_loop(writer_, rows_of_thread);
    writer_.line("if (x + warp + 8 * e < columns && y + lane < rows) {");
    for (std::size_t k = 0; k < text_.input_count(); ++k)
      if (turned_[k])
        writer_.line(tile_name(k) + "[lane][warp + 8 * e] = " +
                     element_at(k, "x + warp + 8 * e", "y + lane") + ";");
    writer_.line("}");
    writer_.line("}");
  }

  bool is_direct(std::size_t k) const { return !space_.is_constant(k) && !turned_[k]; }

  void read_others() {
    bool any = false;
    for (std::size_t k = 0; k < text_.input_count(); ++k) any = any || is_direct(k);
    if (!any) return;
    begin_loop(writer_, rows_of_thread);
    writer_.line("if (x + lane < columns && y + warp + 8 * e < rows) {");
    for (std::size_t k = 0; k < text_.input_count(); ++k)
      if (is_direct(k))
        writer_.line(FusedText::elements(k) +
                     "[e] = " + element_at(k, "x + lane", "y + warp + 8 * e") + ";");
    writer_.line("} else {");
    for (std::size_t k = 0; k < text_.input_count(); ++k)
      if (is_direct(k)) writer_.line(FusedText::elements(k) + "[e] = 0;");
    writer_.line("}");
    writer_.line("}");
  }

  void write() {
    const std::string sum = outer_sum(space_.dense);
    let("first", sum.empty() ? "0" : sum);
    let("step", count(space_.dense[static_cast<std::size_t>(axis_)]));
    begin_loop(writer_, rows_of_thread);
    writer_.line("if (x + lane < columns && y + warp + 8 * e < rows) {");
    for (std::size_t k = 0; k < text_.output_count(); ++k)
      writer_.line(FusedText::target(k) + "[first + (y + warp + 8 * e) * step + x + lane] = " +
                   FusedText::results(k) + "[e];");
    writer_.line("}");
    writer_.line("}");
  }

  KernelWriter writer_;
  const FusedSpace& space_;
  const int axis_;  // of the tiles' rows
  FusedText text_;
  const bool is_wide_;
  const std::int64_t tiles_x_, tiles_y_;
  std::vector<char> turned_;
  int divisions_ = 0;
};

}  // namespace

int tile_axis(const KernelStep& step, const FusedSpace& space) {
  if (space.columns() < least_extent) return -1;
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    for (int axis = 0; axis < space.rank - 1; ++axis)
      if (space.extents[static_cast<std::size_t>(axis)] >= least_extent &&
          is_turned(space, k, axis))
        return axis;
  return -1;
}

KernelLaunch emit_tiles(const KernelStep& step, const GpuFacts& gpu, const FusedSpace& space,
                        int axis) {
  return TileKernel(step, gpu, space, axis).run();
}

}  // namespace weft::detail
