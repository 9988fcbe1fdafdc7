// Reading of golden files.
#include "golden.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>

namespace golden {
namespace {

using nlohmann::json;

double parse_real(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto& text = value.get_ref<const std::string&>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "-0") return -0.0;
  throw std::runtime_error("not a number: " + text);
}

std::int64_t parse_int(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  throw std::runtime_error("not an integer: " + value.dump());
}

Input parse_input(const json& value) {
  if (!value.contains("scalar")) return parse_tensor(value);
  const json& scalar = value.at("scalar");
  if (scalar.is_boolean()) return Scalar{scalar.get<bool>()};
  if (scalar.is_number_integer()) return Scalar{scalar.get<std::int64_t>()};
  return Scalar{parse_real(scalar)};
}

std::vector<HostTensor> parse_tensors(const json& list) {
  std::vector<HostTensor> tensors;
  for (const json& one : list) tensors.push_back(parse_tensor(one));
  return tensors;
}

std::string unpack(const std::filesystem::path& file) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
  if (!in) throw std::runtime_error("cannot open " + file.string());
  std::string text;
  std::vector<char> buffer(1 << 16);
  int got = 0;
  while ((got = gzread(in.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  if (got < 0) throw std::runtime_error("cannot unpack " + file.string());
  return text;
}

}  // namespace

std::string HostTensor::text(std::size_t i) const {
  if (!is_real()) return std::to_string(ints[i]);
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", reals[i]);
  return digits;
}

weft::DType dtype_named(const std::string& name) {
  for (int i = 0; i < weft::dtype_count; ++i)
    if (const auto dtype = static_cast<weft::DType>(i); weft::name_of(dtype) == name) return dtype;
  throw std::runtime_error("no such dtype: " + name);
}

HostTensor parse_tensor(const json& value) {
  HostTensor tensor;
  tensor.dtype = dtype_named(value.at("dtype").get<std::string>());
  tensor.shape = value.at("shape").get<std::vector<std::int64_t>>();
  std::int64_t numel = 1;
  for (const std::int64_t extent : tensor.shape) numel *= extent;
  for (const json& element : value.at("data")) {
    if (tensor.is_real())
      tensor.reals.push_back(parse_real(element));
    else
      tensor.ints.push_back(parse_int(element));
  }
  if (tensor.size() != static_cast<std::size_t>(numel))
    throw std::runtime_error("data and shape disagree");
  return tensor;
}

Case parse_case(const std::string& line, const std::string& id) {
  const json value = json::parse(line);
  Case one;
  one.id = id;
  one.op = value.at("op").get<std::string>();
  for (const json& input : value.at("inputs")) one.inputs.push_back(parse_input(input));
  one.attrs = value.value("attrs", json::object());
  one.outputs = parse_tensors(value.at("outputs"));
  one.note = value.value("note", "");
  if (value.contains("cotangent")) {
    one.has_gradient = true;
    one.cotangent = parse_tensor(value.at("cotangent"));
    one.grad_of = value.at("grad_of").get<std::vector<std::size_t>>();
    one.grads = parse_tensors(value.at("grads"));
    if (one.grads.size() != one.grad_of.size())
      throw std::runtime_error("grad_of and grads disagree");
  }
  return one;
}

std::vector<Case> load_cases(const std::filesystem::path& file) {
  const std::string text = unpack(file);
  std::vector<Case> cases;
  std::size_t start = 0;
  for (int line = 1; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string id = file.filename().string() + ":" + std::to_string(line);
    try {
      if (end > start) cases.push_back(parse_case(text.substr(start, end - start), id));
    } catch (const std::exception& error) {
      throw std::runtime_error(id + ": " + error.what());
    }
    start = end + 1;
  }
  return cases;
}

bool is_own_folder() {
  const char* set = std::getenv("WEFT_GOLDEN_DIR");
  return set == nullptr || *set == '\0';
}

std::filesystem::path folder() {
  if (!is_own_folder()) return std::getenv("WEFT_GOLDEN_DIR");
#ifdef WEFT_GOLDEN_DEFAULT_DIR
  return WEFT_GOLDEN_DEFAULT_DIR;
#else
  return std::filesystem::path(WEFT_TESTS_DIR) / "golden" / "data";
#endif
}

const Registry& registry() {
  static const Registry all = [] {
    Registry ops;
    add_unary(ops);
    add_binary(ops);
    add_reductions(ops);
    add_shape(ops);
    add_nn(ops);
    add_optim(ops);
    return ops;
  }();
  return all;
}

}  // namespace golden
