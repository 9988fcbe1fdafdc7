// One case: inputs to their devices, the op through the public API, values and gradients compared.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>

#include "golden.h"
#include "tolerance.h"

namespace golden {
namespace {

using weft::DType;
using weft::Tensor;

template <class T, class S>
Tensor tensor_of(const std::vector<S>& values, const weft::Shape& shape) {
  const auto buffer = std::make_unique<T[]>(values.size());
  std::transform(values.begin(), values.end(), buffer.get(),
                 [](S value) { return static_cast<T>(value); });
  return weft::from_span(std::span<const T>(buffer.get(), values.size()), shape,
                         {.device = weft::Device::cpu()});
}

struct Recorded {
  Tensors outputs, grads;
};

Recorded record_second_order(const Op& op, const Tensor& input, const Attrs& attrs) {
  const weft::Variable x = weft::variable(input);
  const Tensor first = weft::grad(weft::sum(op({x.value()}, attrs).at(0)), x);
  return {{first, weft::grad(weft::sum(first * first), x)}, {}};
}

Recorded record(const Case& given, const Backend& backend, const Op& op) {
  Args args;
  for (std::size_t i = 0; i < given.inputs.size(); ++i) {
    if (const auto* host = std::get_if<HostTensor>(&given.inputs[i]))
      args.emplace_back(to_tensor(*host).to(backend.place(i)));
    else
      std::visit([&args](auto value) { args.emplace_back(value); },
                 std::get<Scalar>(given.inputs[i]));
  }
  std::optional<weft::On> scope;
  if (!backend.scope.empty()) scope.emplace(backend.scope);
  if (given.is_second_order())
    return record_second_order(op, std::get<Tensor>(args.at(0)), given.attrs);
  std::vector<weft::Variable> leaves;
  for (const std::size_t i : given.grad_of) {
    leaves.push_back(weft::variable(std::get<Tensor>(args.at(i))));
    args[i] = leaves.back().value();
  }
  Recorded recorded{op(args, given.attrs), {}};
  if (given.has_gradient) {
    const Tensor& value = recorded.outputs.at(0);
    recorded.grads = weft::grad(value, leaves, to_tensor(given.cotangent).to(value.device()));
  }
  return recorded;
}

std::string compare(const Case& wanted, std::span<const HostTensor> outputs,
                    std::span<const HostTensor> grads) {
  if (outputs.size() != wanted.outputs.size())
    return "gives " + std::to_string(outputs.size()) + " outputs, not " +
           std::to_string(wanted.outputs.size());
  if (grads.size() != wanted.grads.size())
    return "gives " + std::to_string(grads.size()) + " gradients";
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (auto text = mismatch(wanted.outputs[i], outputs[i], tolerance_of(wanted, i)); !text.empty())
      return "output " + std::to_string(i) + " " + text;
  for (std::size_t i = 0; i < grads.size(); ++i)
    if (auto text = mismatch(wanted.grads[i], grads[i], tensor_tolerance(wanted.grads[i]));
        !text.empty())
      return "gradient for input " + std::to_string(wanted.grad_of[i]) + " " + text;
  return "";
}

}  // namespace

Tensor to_tensor(const HostTensor& host) {
  switch (host.dtype) {
    case DType::f16: return tensor_of<weft::Half>(host.reals, host.shape);
    case DType::bf16: return tensor_of<weft::BFloat16>(host.reals, host.shape);
    case DType::f32: return tensor_of<float>(host.reals, host.shape);
    case DType::f64: return tensor_of<double>(host.reals, host.shape);
    case DType::i8: return tensor_of<std::int8_t>(host.ints, host.shape);
    case DType::i32: return tensor_of<std::int32_t>(host.ints, host.shape);
    case DType::i64: return tensor_of<std::int64_t>(host.ints, host.shape);
    case DType::u8: return tensor_of<std::uint8_t>(host.ints, host.shape);
    case DType::bool_: return tensor_of<bool>(host.ints, host.shape);
  }
  throw std::runtime_error("no such dtype");
}

HostTensor to_host(const Tensor& tensor) {
  HostTensor host;
  host.dtype = tensor.dtype();
  const weft::Shape shape = tensor.shape();
  host.shape.assign(shape.begin(), shape.end());
  if (host.is_real())
    host.reals = tensor.to_vector<double>();
  else
    host.ints = tensor.to_vector<std::int64_t>();
  return host;
}

Verdict run_case(const Case& given, const Backend& backend, const Registry& ops) {
  Verdict verdict;
  const auto op = ops.find(given.op);
  if (op == ops.end()) {
    verdict.kind = Verdict::Kind::not_there;
    return verdict;
  }
  Case wanted = given;
  verdict.rule = apply_conventions(wanted);
  try {
    Recorded recorded = record(wanted, backend, op->second);
    const std::size_t outputs = recorded.outputs.size();
    Tensors roots = std::move(recorded.outputs);
    roots.insert(roots.end(), recorded.grads.begin(), recorded.grads.end());
    const std::vector<HostTensor> results = backend.run(roots);
    const std::span<const HostTensor> all(results);
    verdict.message = compare(wanted, all.first(outputs), all.subspan(outputs));
  } catch (const std::exception& error) {
    verdict.message = std::string("throws: ") + error.what();
  }
  if (!verdict.message.empty()) verdict.kind = Verdict::Kind::failed;
  return verdict;
}

}  // namespace golden
