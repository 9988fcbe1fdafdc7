// Gradients of every op of the table that has one, first and second order, in f64 against finite
// differences, on every kind of device. A structured row without an entry here does not link.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <weft/graph/detail/ops.h>
#include <weft/graph/detail/record.h>
#include <weft/weft.h>

#include "gradcheck.h"
#include "support/catch.h"
#include "support/sanitized.h"

using namespace weft;
using namespace weft::testing;

namespace {

using detail::DTypeRule;
using detail::OpId;
using Inputs = std::vector<Tensor>;

/// Numbers without pattern within an op's domain, and near enough to 0 that differences of large
/// results do not drown those of small ones.
Tensor within(const detail::OpInfo& op, const Shape& shape, int seed) {
  const double low = std::max(op.low, -3.0), high = std::min(op.high, 3.0);
  Values data;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const double wave = std::sin(2.3 * static_cast<double>(i) + 1.1 * seed + 0.37);
    data.push_back(low + (high - low) * (0.5 + 0.47 * wave));
  }
  return of(data, shape);
}

/// f with its inputs moved to the device and its result moved back.
Function on(Device device, const Function& f) {
  return [device, f](const Inputs& in) {
    Inputs there;
    for (const Tensor& x : in) there.push_back(x.to(device));
    return f(there).to("cpu");
  };
}

std::vector<Device> devices() {
  sim::enable(1);
  if (test::sanitized) return {"sim:0"};  // which is watched as the cpu is
  std::vector<Device> all{Device::cpu(), "sim:0"};
  if (cuda::is_available()) all.push_back("cuda:0");
  return all;
}

/// What is wrong with the gradients of f on any device; empty if nothing is.
std::string fault_of(const Function& f, const Inputs& inputs) {
  for (const Device device : devices())
    if (std::string fault = second_order_fault(on(device, f), inputs); !fault.empty())
      return device.str() + ": " + fault;
  return "";
}

std::string fault_of_row(OpId id) {
  const detail::OpInfo& op = detail::info(id);
  const Tensor mask = of({1, 0, 1, 1, 0, 0}, {2, 3}).to(bool_);
  const bool chooses = op.rule == DTypeRule::select;
  const Function f = [&](const Inputs& in) {
    std::vector<Operand> operands;
    if (chooses) operands.emplace_back(mask.to(in[0].device()));
    for (const Tensor& x : in) operands.emplace_back(x);
    return detail::record_pointwise(id, operands);
  };
  Inputs equal, broadcast;
  for (int i = chooses ? 1 : 0; i < op.input_count; ++i) {
    equal.push_back(within(op, {2, 3}, i));
    broadcast.push_back(within(op, i == op.input_count - 1 ? Shape{3} : Shape{2, 1}, i + 3));
  }
  if (std::string fault = fault_of(f, equal); !fault.empty()) return fault;
  if (op.input_count == 1 || chooses) return "";
  if (std::string fault = fault_of(f, broadcast); !fault.empty()) return "broadcast: " + fault;
  return "";
}

// One for each structured op with a gradient; the table asks for them by name.
const auto squared = [](const Tensor& x) { return x * x; };
Tensor places() { return tensor({{0, 2, 1}, {2, 2, 0}}); }

Function entry_variable() {
  return [](const Inputs& in) {
    Variable v = variable(zeros({2, 3}, {.dtype = f64, .device = in[0].device()}));
    v.assign(in[0].detach());
    // Differentiation ends at a Variable: its own gradient is what there is to check.
    const Tensor own = grad(sum(squared(v)), v);
    return squared(in[0]) + (own.detach() - 2 * in[0].detach());
  };
}
Function entry_reshape() {
  return [](const Inputs& in) { return squared(reshape(in[0], {3, 2})); };
}
Function entry_permute() {
  return [](const Inputs& in) { return squared(permute(in[0], {1, 0})); };
}
Function entry_expand() {
  return [](const Inputs& in) { return squared(expand(unsqueeze(in[0], 1), {2, 2, 3})); };
}
Function entry_slice() {
  return [](const Inputs& in) { return squared(slice(flip(in[0], 1), 1, 0, 3, 2)); };
}
Function entry_sum() {
  return [](const Inputs& in) { return squared(sum(in[0], 1)); };
}
Function entry_prod() {
  return [](const Inputs& in) { return prod(in[0], 0); };
}
Function entry_amax() {
  return [](const Inputs& in) { return squared(amax(in[0], 1)); };
}
Function entry_amin() {
  return [](const Inputs& in) { return squared(amin(in[0], 0, true)); };
}
Function entry_matmul() {
  return [](const Inputs& in) { return matmul(in[0], transpose(in[0], 0, 1)); };
}
Function entry_cat() {
  return [](const Inputs& in) { return squared(cat({in[0], in[0] * 2}, 1)); };
}
Function entry_slice_update() {
  return [](const Inputs& in) { return squared(slice_update(in[0], 1, 1, in[0].slice(1, 0, 1))); };
}
Function entry_gather() {
  return [](const Inputs& in) { return squared(gather(in[0], 1, places().to(in[0].device()))); };
}
Function entry_scatter_add() {
  return [](const Inputs& in) {
    return squared(scatter_add(in[0], 1, places().to(in[0].device()), in[0] * 3));
  };
}
Function entry_scatter() {
  return [](const Inputs& in) {
    return squared(scatter(in[0], 1, places().to(in[0].device()), in[0] * 3));
  };
}
Function entry_topk() {
  return [](const Inputs& in) { return squared(topk(in[0], 2, 1).first); };
}
Function entry_cumsum() {
  return [](const Inputs& in) { return squared(cumsum(in[0], 1)); };
}
Function entry_cumprod() {
  return [](const Inputs& in) { return cumprod(in[0], 1); };
}
Function entry_logcumsumexp() {
  return [](const Inputs& in) { return logcumsumexp(in[0], 1); };
}
Function entry_cummax() {
  return [](const Inputs& in) { return squared(cummax(in[0], 1).first); };
}
Function entry_cummin() {
  return [](const Inputs& in) { return squared(cummin(in[0], 1).first); };
}
Function entry_sort() {
  return [](const Inputs& in) { return squared(sort(in[0], 1, true).first); };
}
Function entry_transfer() {
  return [](const Inputs& in) { return squared(squared(in[0].to("sim:0")).to(in[0].device())); };
}
Function entry_upload() {
  // A 0-dim value of the cpu among those of an accelerator.
  return [](const Inputs& in) {
    const Tensor scale = sum(in[0].to("cpu"));
    return squared(in[0].to("sim:0") * scale).to(in[0].device());
  };
}

struct Entry {
  const char* name;
  Function f;
};

std::vector<Entry> entries() {
  std::vector<Entry> all;
#define WEFT_ENTRY_true(name) all.push_back({#name, entry_##name()});
#define WEFT_ENTRY_false(name)
#define WEFT_OP_STRUCTURED(name, kind, inputs, outputs, exactness, mask, has_gradient, doc)        \
  WEFT_ENTRY_##has_gradient(name)
#include <weft/graph/detail/ops.def>
  return all;
}

}  // namespace

TEST_CASE("gradients of every structured op of the table") {
  const Tensor x = of({0.3, -1.2, 0.8, 1.7, -0.4, 0.9}, {2, 3});
  for (const Entry& entry : entries()) {
    INFO(entry.name);
    CHECK(fault_of(entry.f, {x}) == "");
  }
}

TEST_CASE("gradients of every point-wise op of the table") {
  int checked = 0;
  for (int i = 0; i < detail::op_count; ++i) {
    const auto id = static_cast<OpId>(i);
    const detail::OpInfo& op = detail::info(id);
    if (!op.is_pointwise() || !op.gradient || op.rule == DTypeRule::given) continue;
    INFO(op.name);
    CHECK(fault_of_row(id) == "");
    ++checked;
  }
  CHECK(checked > 45);
  // The cast, which has no difference quotient in a narrower dtype.
  const Tensor x = of({0.5, -1.25});
  CHECK(values(grad(x.to(f32) * 3, x, of({1, 2}).to(f32))) == Values{3, 6});
  CHECK(grad(x.to(f16), x, of({1, 2}).to(f16)).dtype() == f64);
}
