// Result dtypes: every entry of the promotion table.
#include <fstream>
#include <iostream>
#include <string>

#include "golden.h"
#include "support/catch.h"

namespace {

using golden::dtype_named;
using weft::Tensor;

Tensor sample(const std::string& dtype, const weft::Shape& shape) {
  return weft::ones(shape, {.dtype = dtype_named(dtype), .device = weft::Device::cpu()});
}

Tensor with_scalar(const Tensor& x, const std::string& kind) {
  if (kind == "bool") return weft::add(x, true);
  if (kind == "int") return weft::add(x, 1);
  return weft::add(x, 1.0);
}

// The op of "sum bf16"; entries of two operands are about promotion itself, and add shows that.
std::string op_of(const std::string& entry) {
  return entry.find(", ") == std::string::npos ? entry.substr(0, entry.find(' ')) : "add";
}

// "tensor f32, zero-dim i64", "tensor u8, scalar int", "sum bf16"
Tensor apply(const std::string& entry) {
  const auto comma = entry.find(", ");
  const auto space = entry.find(' ');
  if (comma == std::string::npos) {
    const Tensor x = sample(entry.substr(space + 1), {2});
    const golden::Args args = op_of(entry) == "div" ? golden::Args{x, x} : golden::Args{x};
    return golden::registry().at(op_of(entry))(args, {{"dim", 0}}).at(0);
  }
  const Tensor left = sample(entry.substr(space + 1, comma - space - 1), {2});
  const std::string right = entry.substr(comma + 2);
  const auto gap = right.find(' ');
  const std::string kind = right.substr(0, gap), what = right.substr(gap + 1);
  if (kind == "scalar") return with_scalar(left, what);
  return weft::add(left, sample(what, kind == "tensor" ? weft::Shape{2} : weft::Shape{}));
}

}  // namespace

TEST_CASE("golden: promotion table", "[golden]") {
  std::ifstream in(golden::folder() / "promotion.json");
  if (!in && !golden::is_own_folder()) return;
  REQUIRE(in);
  std::size_t missing = 0;
  const auto table = nlohmann::json::parse(in);
  for (const auto& [entry, expected] : table.items()) {
    INFO(entry);
    if (!golden::registry().contains(op_of(entry))) {
      ++missing;
    } else if (expected == "error") {
      CHECK_THROWS_AS(apply(entry), weft::Error);
    } else {
      std::string dtype = "an error";
      CHECK_NOTHROW(dtype = name_of(apply(entry).dtype()));
      CHECK(dtype == expected.get<std::string>());
    }
  }
  CHECK(missing <= 9);
  std::cout << "golden: promotion table: " << table.size() - missing << " entries, " << missing
            << " not there yet\n";
}
