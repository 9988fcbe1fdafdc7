// What computes the golden cases' values.
#include "golden.h"

#if __has_include("support/interpreter.h")
#include "support/interpreter.h"
#define GOLDEN_HAS_INTERPRETER 1
#endif

namespace golden {
namespace {

std::vector<HostTensor> evaluate(const Tensors& roots) {
  weft::eval(roots);
  std::vector<HostTensor> values;
  for (const weft::Tensor& root : roots) values.push_back(to_host(root));
  return values;
}

Backend on_cpu() {
  return {"cpu", [](std::size_t) { return weft::Device::cpu(); }, "", evaluate};
}

#ifdef GOLDEN_HAS_INTERPRETER
std::vector<HostTensor> interpret(const Tensors& roots) {
  std::vector<HostTensor> values;
  for (const auto& value : weft::testing::interpret(roots)) {
    HostTensor host;
    host.dtype = value.dtype;
    host.shape.assign(value.shape.begin(), value.shape.end());
    for (std::int64_t i = 0; i < value.shape.numel(); ++i)
      if (host.is_real())
        host.reals.push_back(value.at(i));
      else
        host.ints.push_back(value.integer(i));
    values.push_back(std::move(host));
  }
  return values;
}
#endif

// Inputs alternate between two devices and the op runs on the first, so that every second input
// is transferred.
Backend on_sim() {
  weft::sim::enable(2);
  return {"sim", [](std::size_t input) { return weft::Device::sim(static_cast<int>(input % 2)); },
          "sim:0", evaluate};
}

// Every second input comes from the cpu.
Backend on_cuda() {
  return {"cuda",
          [](std::size_t input) { return input % 2 ? weft::Device::cpu() : weft::Device::cuda(0); },
          "cuda:0", evaluate};
}

}  // namespace

Backend backend(const std::string& name) {
  if (name == "cpu") return on_cpu();
  if (name == "sim") return on_sim();
  if (name == "cuda") return on_cuda();
#ifdef GOLDEN_HAS_INTERPRETER
  if (name == "interpreter")
    return {name, [](std::size_t) { return weft::Device::cpu(); }, "", interpret};
#endif
  return {name, nullptr, "", nullptr};
}

}  // namespace golden
