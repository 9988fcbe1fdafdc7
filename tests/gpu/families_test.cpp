// Every kernel family in every dtype on a GPU: the cpu's bits, for products what the interpreter
// says within their bound. Shapes are small, and such that vectors, their tails, rows, tiles and
// strides are all met, so that a sanitizer of the GPU can watch.
#include <algorithm>
#include <functional>

#include <weft/graph/detail/record.h>
#include <weft/weft.h>

#include "graph/structured_ops.h"
#include "support/catch.h"
#include "support/fake_cuda.h"
#include "support/gpu.h"
#include "support/op_table.h"
#include "support/sanitized.h"

using namespace weft;
using namespace weft::testing;

namespace {

/// All of them, recorded for a device.
std::vector<StructuredCases> cases_on(Device device) {
  const On scope(device);
  return structured_cases();
}

/// A line for each value that is not the cpu's, at most five.
std::string differences(const std::vector<Case>& got, const std::vector<Case>& wanted) {
  std::vector<Tensor> roots, references;
  for (const Case& c : got) roots.push_back(c.result);
  for (const Case& c : wanted) references.push_back(c.result);
  eval(roots);
  eval(references);
  std::string text;
  int count = 0;
  for (std::size_t i = 0; i < roots.size() && count < 5; ++i) {
    std::string why;
    if (matches(evaluated(roots[i]), evaluated(references[i]), {.zero_sign = true}, &why)) continue;
    text += got[i].what + ": " + why + "\n";
    ++count;
  }
  return text;
}

void check_structured(Device device, const std::function<bool(const std::string&)>& wants) {
  const std::vector<StructuredCases> there = cases_on(device), here = structured_cases();
  REQUIRE(there.size() == here.size());
  int checked = 0;
  for (std::size_t i = 0; i < there.size(); ++i) {
    const std::string& name = there[i].name;
    if (name.starts_with("transfers") || !wants(name)) continue;
    INFO(name << " on " << device);
    CHECK((name.starts_with("matmuls") ? failures(there[i].cases)
                                       : differences(there[i].cases, here[i].cases)) == "");
    ++checked;
  }
  CHECK(checked > 0);
}

enum class Layout { vectors, aligned, rows, tiles, strided, pairs };

constexpr std::pair<Layout, const char*> layouts[] = {{Layout::vectors, "vectors and a tail"},
                                                      {Layout::aligned, "whole vectors"},
                                                      {Layout::rows, "broadcast rows"},
                                                      {Layout::tiles, "transposed tiles"},
                                                      {Layout::strided, "strided"},
                                                      {Layout::pairs, "pairs of specials"}};

Tensor operand(DType dtype, int k, int arity, Layout layout) {
  const auto make = [&](const Shape& shape) {
    return tensor_of(drawn(dtype, shape, -20, 20, static_cast<unsigned>(k) * 7 + 3));
  };
  switch (layout) {
    case Layout::vectors: return make({1003});
    case Layout::aligned: return make({512});
    case Layout::rows: return k == 0 ? make({19, 1}) : make({19, 33});
    case Layout::tiles: return k == 0 ? transpose(make({70, 40}), 0, 1) : make({40, 70});
    case Layout::strided: return slice(make({9, 50}), 1, 1, 50, 3);
    case Layout::pairs: return tensor_of(special_pairs(dtype, std::min(k, 1), std::min(arity, 2)));
  }
  return {};
}

bool is_legal(const PointwiseRow& row, DType dtype) {
  const DTypes legal = legal_dtypes(row.rule);
  return row.rule != DTypeRule::given &&
         std::find(legal.begin(), legal.end(), dtype) != legal.end();
}

/// All ops of so many operands, and the casts.
std::vector<Case> pointwise(int arity, DType dtype, Layout layout) {
  std::vector<Operand> operands;
  std::vector<Case> cases;
  for (int k = 0; k < arity; ++k)
    operands.push_back(operand(arity == 3 && k == 0 ? bool_ : dtype, k, arity, layout));
  for (const PointwiseRow& row : pointwise_rows())
    if (row.arity == arity && is_legal(row, dtype))
      cases.push_back({row.name, detail::record_pointwise(row.op, operands)});
  if (arity == 1)
    for (const DType to : all_dtypes())
      if (to != dtype)
        cases.push_back(
            {"cast to " + std::string(name_of(to)), cast(operand(dtype, 0, 1, layout), to)});
  return cases;
}

void check_pointwise(Device device, const DTypes& dtypes,
                     const std::function<bool(Layout)>& wants) {
  for (const DType dtype : dtypes)
    for (const auto& [layout, name] : layouts)
      for (int arity = 1; wants(layout) && arity <= 3; ++arity) {
        if (layout == Layout::pairs && arity == 3) continue;
        std::vector<Case> there;
        {
          const On scope(device);
          there = pointwise(arity, dtype, layout);
        }
        INFO(name_of(dtype) << ", " << arity << " operands, " << name << ", on " << device);
        CHECK(differences(there, pointwise(arity, dtype, layout)) == "");
      }
}

}  // namespace

TEST_CASE("gpu: point-wise kernels in every dtype give the cpu's bits", "[gpu][families]") {
  if (!has_gpus(1)) return;
  check_pointwise(Device::cuda(0), all_dtypes(), [](Layout) { return true; });
}

TEST_CASE("gpu: structured kernels in every dtype give the cpu's bits", "[gpu][families]") {
  if (!has_gpus(1)) return;
  check_structured(Device::cuda(0), [](const std::string&) { return true; });
}

// Kernels are compiled for the host there, each in a tenth of a second and more.
TEST_CASE("gpu: a slice of the families over the driver of the tests") {
  const FakeCuda gpu;
  check_pointwise(Device::cuda(0), {f32}, [](Layout layout) {
    return layout == Layout::vectors || (layout == Layout::tiles && !test::sanitized);
  });
  check_structured(Device::cuda(0), [](const std::string& name) {
    return name == "joins in f32" || name == "indexing in u8" || name == "sequences in i64" ||
           name == "choices in f32" ||
           (!test::sanitized && (name == "scans in f16" || name == "orders in bool"));
  });
}

TEST_CASE("gpu: all families over the driver of the tests", "[.][slow]") {
  const FakeCuda gpu;
  check_pointwise(Device::cuda(0), all_dtypes(), [](Layout) { return true; });
  check_structured(Device::cuda(0), [](const std::string&) { return true; });
}

TEST_CASE("gpu: a difference is seen") {
  const std::vector<Case> one{{"one", tensor({1.0f, 2.0f})}}, other{{"one", tensor({1.0f, -2.0f})}};
  CHECK(differences(one, one) == "");
  CHECK(differences(one, other) != "");
  const std::vector<Case> zero{{"zero", tensor({0.0f})}}, negative{{"zero", tensor({-0.0f})}};
  CHECK(differences(zero, negative) != "");
}
