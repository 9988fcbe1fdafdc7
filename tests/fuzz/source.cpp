// Programs as text.
#include <cmath>
#include <cstdio>
#include <sstream>

#include "program.h"

namespace weft::fuzz {

namespace {

std::string list(const IntList& values) {
  std::string text = "{";
  for (const std::int64_t value : values)
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "}";
}

std::string decimal_text(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

std::string dtype_text(DType dtype) {
  return dtype == bool_ ? "weft::bool_" : "weft::" + std::string(name_of(dtype));
}

std::string value_name(int id) { return (id % 2 ? "p" : "v") + std::to_string(id / 2); }

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string run() {
    text_ << "weft::sim::enable(2);\n";
    for (std::size_t i = 0; i < program_.code.size(); ++i) line(i);
    text_ << "weft::eval({";
    const char* comma = "";
    for (std::size_t i = 0; i < program_.code.size(); ++i)
      if (program_.code[i].held && has_value(program_.code[i])) {
        text_ << comma << (program_.code[i].act == Act::variable ? "w" : "v") << i;
        comma = ", ";
      }
    text_ << "});\n";
    return text_.str();
  }

 private:
  static bool has_value(const Instruction& it) {
    return it.act != Act::assign && it.act != Act::eval && it.act != Act::flush;
  }

  std::string operand(const Instruction& it, std::size_t k) const {
    const int id = it.operands.at(k);
    if (id >= 0) {
      const bool variable = program_.code[static_cast<std::size_t>(id / 2)].act == Act::variable;
      return variable ? "w" + std::to_string(id / 2) : value_name(id);
    }
    const Number number = it.numbers.at(static_cast<std::size_t>(-1 - id));
    if (number.kind == Number::Kind::decimal) return decimal_text(number.decimal);
    if (number.kind == Number::Kind::integer) return std::to_string(number.integer);
    return number.integer ? "true" : "false";
  }

  std::string operands(const Instruction& it) const {
    std::string text;
    for (std::size_t k = 0; k < it.operands.size(); ++k) text += (k ? ", " : "") + operand(it, k);
    return text;
  }

  std::string options(const Instruction& it) const {
    return "{.dtype = " + dtype_text(it.dtype) + "}";
  }

  std::string leaf(const Instruction& it) const {
    const testing::HostValue value = leaf_numbers(it, 0);
    const bool decimal = is_floating(it.dtype);
    std::string text =
        decimal ? "weft::from_vector<double>({" : "weft::from_vector<std::int64_t>({";
    for (std::int64_t i = 0; i < value.numel(); ++i) {
      if (i) text += ", ";
      text += decimal ? decimal_text(value.at(i)) : std::to_string(value.integer(i));
    }
    return text + "}, weft::Shape" + list(it.shape) + ", " + options(it) + ")";
  }

  std::string call(const Instruction& it) const {
    const std::string name(detail::info(it.op).name);
    const auto& a = it.attrs;
    const auto n = [](std::int64_t value) { return std::to_string(value); };
    const std::string generator = "g" + n(it.seed);
    switch (it.op) {
      case OpId::cast: return "weft::cast(" + operands(it) + ", " + dtype_text(it.dtype) + ")";
      case OpId::reshape:
      case OpId::permute:
      case OpId::expand: return "weft::" + name + "(" + operands(it) + ", " + list(it.shape) + ")";
      case OpId::slice: {
        const std::int64_t start = start_in(it, 0), extent = it.shape[0];
        if (a[1] < 0)
          return "weft::flip(weft::slice(" + operands(it) + ", " + n(a[0]) + ", " + n(start) +
                 ", " + n(start + extent) + "), " + n(a[0]) + ")";
        const std::int64_t stop = extent ? start + (extent - 1) * a[1] + 1 : start;
        return "weft::slice(" + operands(it) + ", " + n(a[0]) + ", " + n(start) + ", " + n(stop) +
               ", " + n(a[1]) + ")";
      }
      case OpId::slice_update:
        return "weft::slice_update(" + operand(it, 0) + ", " + n(a[0]) + ", " + n(start_in(it, 0)) +
               ", " + operand(it, 1) + ", " + n(a[1]) + ")";
      case OpId::cat: return "weft::cat({" + operands(it) + "}, " + n(a[0]) + ")";
      case OpId::gather:
        return "weft::gather(" + operand(it, 0) + ", " + n(a[0]) + ", " + operand(it, 1) + ")";
      case OpId::scatter_add:
      case OpId::scatter:
        return "weft::" + name + "(" + operand(it, 0) + ", " + n(a[0]) + ", " + operand(it, 1) +
               ", " + operand(it, 2) + ")";
      case OpId::topk:
        return "weft::topk(" + operands(it) + ", " + n(a[0]) + ", " + n(a[1]) + ", " +
               (a[2] ? "true" : "false") + ")";
      case OpId::sort:
        return "weft::sort(" + operands(it) + ", " + n(a[1]) + ", " + (a[2] ? "true" : "false") +
               ")";
      case OpId::cumsum:
      case OpId::cumprod:
      case OpId::logcumsumexp:
      case OpId::cummax:
      case OpId::cummin: return "weft::" + name + "(" + operands(it) + ", " + n(a[0]) + ")";
      case OpId::searchsorted:
        return "weft::searchsorted(" + operands(it) + ", " + (a[0] ? "true" : "false") + ")";
      case OpId::iota:
        if (!is_floating(it.dtype))
          return "weft::arange(" + n(a[1]) + ", " + n(a[1] + 3 * a[0]) + ", 3, " + options(it) +
                 ")";
        return "weft::arange(0.25, " + decimal_text(0.25 + 0.5 * static_cast<double>(a[0])) +
               ", 0.5, " + options(it) + ")";
      case OpId::uniform:
        return "weft::rand(" + list(it.shape) + ", " + generator + ", " + options(it) + ")";
      case OpId::normal:
        return "weft::randn(" + list(it.shape) + ", " + generator + ", " + options(it) + ")";
      case OpId::integers:
        return "weft::randint(-5, 17, " + list(it.shape) + ", " + generator + ", " + options(it) +
               ")";
      case OpId::permutation:
        return "weft::randperm(" + n(a[0]) + ", " + generator + ", " + options(it) + ")";
      case OpId::scalar: {
        Instruction number = it;
        number.operands = {-1};
        return "weft::full({}, " + operand(number, 0) + ", " + options(it) + ")";
      }
      default: break;
    }
    if (detail::info(it.op).kind != detail::OpKind::reduce)
      return "weft::" + name + "(" + operands(it) + ")";
    Shape axes;
    for (int d = 0; d < max_rank; ++d)
      if (a[0] >> d & 1) axes.push_back(d);
    return "weft::" + name + "(" + operands(it) + ", " + list(axes) + ", " +
           (a[1] ? "true" : "false") + ")";
  }

  static const char* place_text(Place place) {
    constexpr const char* texts[] = {"", "\"cpu\"", "\"sim:0\"", "\"sim:1\"", "weft::automatic"};
    return texts[static_cast<int>(place)];
  }

  std::string value(const Instruction& it) const {
    switch (it.act) {
      case Act::data:
      case Act::index: return leaf(it);
      case Act::move: return operands(it) + ".to(" + place_text(it.place) + ")";
      case Act::value: return operands(it) + ".value()";
      case Act::grad:
        return "weft::grad(" + operand(it, 1) + ", " + operand(it, 0) + ", " + operand(it, 2) + ")";
      default: return call(it);
    }
  }

  void line(std::size_t i) {
    const Instruction& it = program_.code[i];
    const std::string name = std::to_string(i);
    if (detail::info(it.op).is_random() && it.act == Act::op)
      text_ << "weft::Generator g" << it.seed << "(" << it.seed << ");\n";
    // Of what is not held only what is read later lives on when work starts.
    const bool placed = it.place != Place::inherited && it.act != Act::move &&
                        it.act != Act::eval && it.act != Act::flush;
    const auto assigned = [&](const std::string& target, const std::string& what) {
      if (placed)
        text_ << target << " = [&] { weft::On on(" << place_text(it.place) << "); return " << what
              << "; }();\n";
      else
        text_ << target << " = " << what << ";\n";
    };
    switch (it.act) {
      case Act::eval: text_ << "weft::eval({" << operands(it) << "});\n"; return;
      case Act::flush: text_ << "weft::flush();\n"; return;
      case Act::variable:
        assigned("weft::Variable w" + name, "weft::Variable(" + operands(it) + ")");
        return;
      case Act::assign: text_ << operand(it, 0) << ".assign(" << operand(it, 1) << ");\n"; return;
      default: break;
    }
    const bool pair = it.act == Act::op && detail::info(it.op).output_count == 2;
    assigned(pair ? "auto [v" + name + ", p" + name + "]" : "weft::Tensor v" + name, value(it));
  }

  const Program& program_;
  std::ostringstream text_;
};

}  // namespace

std::string source(const Program& program) { return Printer(program).run(); }

}  // namespace weft::fuzz
