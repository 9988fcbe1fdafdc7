// Printing. Tensors as PyTorch prints them (torch/_tensor_str.py), with weft's names of dtypes.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <weft/graph/detail/record.h>
#include <weft/graph/device.h>
#include <weft/graph/dtype.h>
#include <weft/graph/shape.h>
#include <weft/graph/tensor.h>

namespace weft {
namespace {

constexpr int precision = 4;
constexpr std::int64_t threshold = 1000;  // elements; more are summarised
constexpr std::int64_t edge_items = 3;
constexpr std::size_t line_width = 80;

/// Elements on the host, as doubles or as integers.
struct Elements {
  DType dtype;
  Shape shape;
  std::vector<double> decimals;
  std::vector<std::int64_t> integers;
};

Elements read(const Tensor& tensor, Where at) {
  Elements elements{tensor.dtype(at), tensor.shape(at), {}, {}};
  if (is_floating(elements.dtype))
    elements.decimals = tensor.to_vector<double>(at);
  else
    elements.integers = tensor.to_vector<std::int64_t>(at);
  return elements;
}

// Not printf: it would follow the program's locale.
std::string decimal_text(double value, std::chars_format format, int digits) {
  if (std::isnan(value)) return "nan";
  char text[400];  // the greatest double has 309 digits before the point
  const auto end = std::to_chars(text, text + sizeof text, value, format, digits).ptr;
  return std::string(text, end);
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// One way of writing numbers, chosen for all that are shown of a tensor.
class Formatter {
 public:
  Formatter(const Elements& elements, const std::vector<std::int64_t>& shown)
      : elements_(elements) {
    if (is_floating(elements.dtype)) choose(shown);
    for (const std::int64_t i : shown)
      if (counts(i)) width_ = std::max(width_, plain(i).size());
  }

  std::size_t width() const noexcept { return width_; }
  std::string operator()(std::int64_t i) const { return right_aligned(plain(i), width_); }

 private:
  double decimal(std::int64_t i) const { return elements_.decimals[static_cast<std::size_t>(i)]; }

  /// Zeros, infinities and NaN have no say in the width: PyTorch's choice.
  bool counts(std::int64_t i) const {
    return !is_floating(elements_.dtype) || (std::isfinite(decimal(i)) && decimal(i) != 0);
  }

  void choose(const std::vector<std::int64_t>& shown) {
    double least = HUGE_VAL, greatest = 0;
    for (const std::int64_t i : shown) {
      if (!counts(i)) continue;
      least = std::min(least, std::abs(decimal(i)));
      greatest = std::max(greatest, std::abs(decimal(i)));
      whole_ = whole_ && decimal(i) == std::ceil(decimal(i));
    }
    if (greatest == 0) return;
    scientific_ = greatest / least > 1000 || greatest > 1e8 || least < 1e-4;
  }

  std::string plain(std::int64_t i) const {
    if (!is_floating(elements_.dtype)) {
      const std::int64_t value = elements_.integers[static_cast<std::size_t>(i)];
      if (elements_.dtype == DType::bool_) return value != 0 ? "True" : "False";
      return std::to_string(value);
    }
    const double value = decimal(i);
    if (scientific_) return decimal_text(value, std::chars_format::scientific, precision);
    if (!whole_) return decimal_text(value, std::chars_format::fixed, precision);
    return decimal_text(value, std::chars_format::fixed, 0) + (std::isfinite(value) ? "." : "");
  }

  const Elements& elements_;
  std::size_t width_ = 1;
  bool whole_ = true, scientific_ = false;
};

/// Positions of an axis that are shown. Where there is a gap, it is after the first edge_items.
struct Axis {
  std::vector<std::int64_t> positions;
  bool has_gap;
};

Axis shown_axis(std::int64_t extent, bool is_summary) {
  Axis axis{{}, is_summary && extent > 2 * edge_items};
  for (std::int64_t i = 0; i < extent; ++i) {
    if (axis.has_gap && i == edge_items) i = extent - edge_items;
    axis.positions.push_back(i);
  }
  return axis;
}

/// Writes the nested brackets of one tensor.
class Layout {
 public:
  explicit Layout(const Elements& elements)
      : elements_(elements), is_summary_(elements.shape.numel() > threshold) {
    for (const std::int64_t extent : elements.shape)
      axes_.push_back(shown_axis(extent, is_summary_));
  }

  std::string text(std::size_t indent) const {
    std::vector<std::int64_t> shown;
    collect(0, 0, shown);
    const Formatter format(elements_, shown);
    return axes_.empty() ? format(0) : nested(format, 0, 0, indent);
  }

 private:
  void collect(std::size_t axis, std::int64_t offset, std::vector<std::int64_t>& shown) const {
    if (axis == axes_.size()) return shown.push_back(offset);
    for (const std::int64_t i : axes_[axis].positions)
      collect(axis + 1, offset * elements_.shape[axis] + i, shown);
  }

  std::string nested(const Formatter& format, std::size_t axis, std::int64_t offset,
                     std::size_t indent) const {
    if (axis + 1 == axes_.size()) return vector(format, offset, indent);
    const std::string separator =
        "," + std::string(axes_.size() - axis - 1, '\n') + std::string(indent + 1, ' ');
    std::string text = "[";
    for (std::size_t k = 0; k < axes_[axis].positions.size(); ++k) {
      if (k > 0) text += separator;
      if (axes_[axis].has_gap && k == edge_items) text += "..." + separator;
      const std::int64_t inner = offset * elements_.shape[axis] + axes_[axis].positions[k];
      text += nested(format, axis + 1, inner, indent + 1);
    }
    return text + "]";
  }

  std::string vector(const Formatter& format, std::int64_t offset, std::size_t indent) const {
    const Axis& axis = axes_.back();
    std::vector<std::string> items;
    for (const std::int64_t i : axis.positions) {
      if (axis.has_gap && items.size() == edge_items) items.push_back(" ...");
      items.push_back(format(offset * elements_.shape.back() + i));
    }
    const std::size_t room = line_width > indent ? line_width - indent : 0;
    const std::size_t per_line = std::max<std::size_t>(1, room / (format.width() + 2));
    std::string text = "[";
    for (std::size_t k = 0; k < items.size(); ++k) {
      if (k > 0) text += k % per_line == 0 ? ",\n" + std::string(indent + 1, ' ') : ", ";
      text += items[k];
    }
    return text + "]";
  }

  const Elements& elements_;
  bool is_summary_;
  std::vector<Axis> axes_;
};

/// What follows the elements: what they do not show by themselves.
std::vector<std::string> suffixes(const Elements& elements, Device device) {
  std::vector<std::string> result;
  if (!device.is_cpu()) result.push_back("device='" + device.str() + "'");
  const bool is_empty = elements.shape.numel() == 0;
  if (is_empty && elements.shape.ndim() != 1) {
    std::string size;
    for (const std::int64_t extent : elements.shape)
      size += (size.empty() ? "" : ", ") + std::to_string(extent);
    result.push_back("size=(" + size + ")");
  }
  const bool is_evident =
      elements.dtype == default_dtype() ||
      (!is_empty && (elements.dtype == DType::i64 || elements.dtype == DType::bool_));
  if (!is_evident) result.push_back("dtype=" + std::string(name_of(elements.dtype)));
  return result;
}

std::string tensor_text(const Elements& elements, Device device) {
  const std::string prefix = "tensor(";
  const std::size_t indent = prefix.size();
  std::string text =
      prefix + (elements.shape.numel() == 0 ? std::string("[]") : Layout(elements).text(indent));
  const std::size_t last_break = text.rfind('\n');
  // One more than the last line's length, as in PyTorch.
  std::size_t column = text.size() + 1 - (last_break == std::string::npos ? 0 : last_break);
  if (last_break == std::string::npos) ++column;
  for (const std::string& suffix : suffixes(elements, device)) {
    const bool fits = column + suffix.size() + 2 <= line_width;
    text += fits ? ", " : ",\n" + std::string(indent, ' ');
    text += suffix;
    column = fits ? column + suffix.size() + 2 : indent + suffix.size();
  }
  return text + ")";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.str(); }

std::ostream& operator<<(std::ostream& out, Device device) { return out << device.str(); }

std::ostream& operator<<(std::ostream& out, const TensorArg& tensor) {
  detail::defined(tensor, "print");
  const Tensor printed{detail::Handle(tensor.ref())};
  return out << tensor_text(read(printed, tensor.at()), printed.device(tensor.at()));
}

}  // namespace weft
