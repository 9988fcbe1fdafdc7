// Calls of functions and kernels of the program.
#include <algorithm>

#include <weft/graph/detail/custom.h>
#include <weft/graph/scope.h>

#include "rules.h"

namespace weft {

namespace detail {

void fail_view(DType dtype, const char* asked) {
  fail<DTypeError>(no_place, std::string(asked) + "<T>: the elements are " +
                                 std::string(name_of(dtype)) +
                                 ", which T is not: ask for the dtype's own C++ type");
}

std::vector<Spec> checked_specs(const std::string& op, std::span<const TensorSpec> outputs,
                                Where at) {
  if (outputs.empty() || outputs.size() > most_outputs)
    fail<ValueError>(at, op + ": " + std::to_string(outputs.size()) + " outputs; one to " +
                             std::to_string(most_outputs) + " can be");
  std::vector<Spec> specs;
  for (const TensorSpec& output : outputs) {
    for (const std::int64_t extent : output.shape)
      if (extent < 0)
        fail<ShapeError>(at, op + ": output " + std::to_string(specs.size() + 1) + " has shape " +
                                 output.shape.str() + "; extents are 0 or more");
    check_size(op.c_str(), output.shape, output.dtype, at);
    specs.push_back({output.shape, output.dtype});
  }
  return specs;
}

namespace {

void give_call_gradient(GradientCall& call) { give_custom_gradient(call, 0); }

void set_gradient(GradientPayload& payload, const CallGradient& gradient) {
  if (!gradient) return;
  payload.gradient = [gradient](const GradientCall& call, const std::vector<Tensor>& cotangents) {
    return gradient(call.inputs, call.outputs, cotangents);
  };
}

OpInfo call_row(bool has_gradient) {
  OpInfo row{};
  row.kind = OpKind::call;
  row.rule = DTypeRule::none;
  row.exactness = Exactness::exact;
  row.input_count = -1;
  row.output_count = 1;
  row.flops = 1;
  row.gradient = has_gradient ? give_call_gradient : nullptr;
  return row;
}

OpId register_callback(bool has_gradient) {
  auto op = std::make_unique<RegisteredOp>();
  op->name = "host_callback";
  op->doc = "a function of the program on host memory";
  op->row = call_row(has_gradient);
  op->row.is_pure = false;
  return register_op(std::move(op), no_place);
}

OpId callback_op(bool has_gradient) {
  static const OpId without = register_callback(false), with = register_callback(true);
  return has_gradient ? with : without;
}

std::vector<Ref> refs_of(const TensorList& inputs, const std::string& op) {
  std::vector<Ref> refs;
  for (const TensorArg& input : inputs.args()) {
    defined(input, op.c_str());
    refs.push_back(input.ref());
  }
  return refs;
}

}  // namespace
}  // namespace detail

std::vector<Tensor> host_callback(HostFunction fn, const TensorList& inputs,
                                  const std::vector<TensorSpec>& outputs,
                                  const HostCallbackOptions& options) try {
  using namespace detail;
  const Where at = inputs.at();
  if (!fn) fail<ValueError>(at, options.name + ": there is no function to call");
  const std::vector<Spec> specs = checked_specs(options.name, outputs, at);
  const std::vector<Ref> refs = refs_of(inputs, options.name);
  auto payload = std::make_shared<HostCall>();
  payload->name = options.name;
  payload->input_count = static_cast<std::uint32_t>(refs.size());
  payload->run = std::move(fn);
  set_gradient(*payload, options.gradient);
  std::vector<Tensor> results =
      record_call(callback_op(bool{options.gradient}), refs, {}, specs, Device::cpu(), payload, at);
  if (options.device)
    for (Tensor& result : results) result = result.to(*options.device, at);
  return results;
} catch (const std::bad_alloc&) {
  detail::fail_memory(options.name.c_str(), inputs.at());
}

struct CudaKernelOp::State {
  detail::OpId op;
  std::shared_ptr<const detail::KernelBody> body;
};

CudaKernelOp::CudaKernelOp(CudaKernel kernel, Where at) {
  const auto require = [&](bool there, const char* what) {
    if (!there)
      detail::fail<ValueError>(at, "cuda_kernel_op: the definition " +
                                       (kernel.name.empty() ? "" : "of " + kernel.name + " ") +
                                       "has no " + what);
  };
  require(!kernel.name.empty(), "name");
  require(!kernel.source.empty(), "source");
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  require(!kernel.entry.empty() && std::all_of(kernel.entry.begin(), kernel.entry.end(), is_word),
          "entry, the name of a function");
  require(bool{kernel.outputs}, "rule for its outputs");
  auto op = std::make_unique<detail::RegisteredOp>();
  op->name = kernel.name;
  op->doc = "a kernel of the program";
  op->row = detail::call_row(bool{kernel.gradient});
  auto body = std::make_shared<const detail::KernelBody>(detail::KernelBody{std::move(kernel)});
  op->body = body;
  state_ = std::make_shared<const State>(State{detail::register_op(std::move(op), at), body});
}

std::vector<Tensor> CudaKernelOp::operator()(const TensorList& inputs) const try {
  using namespace detail;
  const Where at = inputs.at();
  const CudaKernel& kernel = state_->body->kernel;
  const std::vector<Ref> refs = refs_of(inputs, kernel.name);
  const Device device = common_device(kernel.name.c_str(), refs, at);
  if (!device.is_cuda() && !kernel.cpu)
    fail<UnsupportedError>(at, kernel.name + ": it is recorded for " + device.str() +
                                   ", and has a kernel for GPUs alone; move its inputs with "
                                   ".cuda(), or define .cpu");
  std::vector<TensorSpec> given;
  for (const Ref ref : refs)
    given.push_back({ref.node->shape(ref.output), ref.node->dtype_of(ref.output)});
  const std::vector<Spec> specs = checked_specs(kernel.name, kernel.outputs(given), at);
  auto payload = std::make_shared<GradientPayload>();
  payload->name = kernel.name;
  payload->input_count = static_cast<std::uint32_t>(refs.size());
  set_gradient(*payload, kernel.gradient);
  return record_call(state_->op, refs, {}, specs, device, std::move(payload), at);
} catch (const std::bad_alloc&) {
  detail::fail_memory(state_->body->kernel.name.c_str(), inputs.at());
}

CudaKernelOp cuda_kernel_op(CudaKernel kernel, Where at) {
  return CudaKernelOp(std::move(kernel), at);
}

}  // namespace weft
