// Gradients that are functions of the program: custom_vjp, and what all of them are held to.
#include <weft/graph/custom_vjp.h>
#include <weft/graph/detail/custom.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>

namespace weft {

namespace detail {

namespace {

/// Zeros where nothing has arrived, unless the program takes undefined ones.
std::vector<Tensor> whole_cotangents(const GradientCall& call, const GradientPayload& payload) {
  std::vector<Tensor> cotangents = call.cotangents;
  for (std::size_t o = 0; o < cotangents.size(); ++o)
    if (!cotangents[o].defined() && !payload.undefined_cotangents)
      cotangents[o] = zeros_like(call.outputs[o]);
  return cotangents;
}

void check_gradient(const GradientPayload& payload, std::size_t i, const Tensor& gradient,
                    const Tensor& input, Where at) {
  const Ref given = gradient.ref(), wanted = input.ref();
  const std::string what = payload.name + ": gradient " + std::to_string(i + 1) + " of " +
                           std::to_string(payload.input_count) + " is " + describe(given) +
                           ", input " + std::to_string(i + 1) + " is " + describe(wanted);
  if (!is_floating(input.dtype()))
    fail<DTypeError>(at, what + ": only floating inputs have gradients; give an undefined tensor");
  if (gradient.shape() != input.shape())
    fail<ShapeError>(at, what + ": the shapes are to be the same; sum what was broadcast");
  if (gradient.dtype() != input.dtype())
    fail<DTypeError>(at, what + ": the dtypes are to be the same; convert with .to(dtype)");
}

}  // namespace

Tensor element_gradient(const GradientCall& call, std::size_t i, const Tensor& gradient) {
  if (!gradient.defined()) return gradient;
  const Tensor& input = call.inputs[i];
  const std::string what = std::string(info(call.node->op).name) + ": gradient " +
                           std::to_string(i + 1) + " is " + describe(gradient.ref()) +
                           ", operand " + std::to_string(i + 1) + " " + describe(input.ref());
  const Where at = call.node->where();
  if (gradient.dtype() != input.dtype())
    fail<DTypeError>(at, what + ": the dtypes are to be the same; convert with .to(dtype)");
  if (gradient.shape() != call.outputs[0].shape())
    fail<ShapeError>(at, what + ", result " + describe(call.outputs[0].ref()) +
                             ": it is to have the result's shape; compute it from g");
  return sum_to(gradient, input.shape());
}

void give_custom_gradient(GradientCall& call, std::size_t first) {
  const auto& payload = static_cast<const GradientPayload&>(*call.node->extra->payload);
  const Where at = call.node->where();
  const std::vector<Tensor> gradients = payload.gradient(call, whole_cotangents(call, payload));
  if (gradients.size() != payload.input_count)
    fail<ValueError>(at, payload.name + ": its gradient function gave " +
                             std::to_string(gradients.size()) + " tensors for " +
                             std::to_string(payload.input_count) +
                             " inputs; give one for each, undefined for none");
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    check_gradient(payload, i, gradients[i], call.inputs[first + i], at);
    if (call.needs[first + i]) call.results[first + i] = gradients[i];
  }
}

namespace {

/// Inputs: the outputs as forward recorded them, the program's inputs, the residuals.
OpId vjp_op() {
  static const OpId op = [] {
    auto row = std::make_unique<RegisteredOp>();
    row->name = "custom_vjp";
    row->doc = "values with a gradient of the program's own";
    row->row.kind = OpKind::call;
    row->row.rule = DTypeRule::none;
    row->row.input_count = -1;
    row->row.output_count = 1;
    row->row.gives_inputs = true;
    row->row.gradient = [](GradientCall& call) {
      give_custom_gradient(call, call.node->output_count);
    };
    row->row.consistent = [](std::span<const Spec> in, const Attrs&, std::span<const Spec> out) {
      for (std::size_t o = 0; o < out.size(); ++o)
        if (o >= in.size() || !(in[o] == out[o])) return false;
      return true;
    };
    return register_op(std::move(row), no_place);
  }();
  return op;
}

void check_outputs(const std::string& name, const std::vector<Tensor>& outputs, Where at) {
  if (outputs.empty() || outputs.size() > most_outputs)
    fail<ValueError>(at, name + ": forward gave " + std::to_string(outputs.size()) +
                             " outputs; one to " + std::to_string(most_outputs) + " can be");
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].defined())
      fail<ValueError>(at, name + ": output " + std::to_string(o + 1) + " of forward is undefined");
    if (outputs[o].ref().node->device != outputs[0].ref().node->device)
      fail<DeviceError>(at, name + ": outputs 1 and " + std::to_string(o + 1) + " of forward, " +
                                describe(outputs[0].ref()) + " and " + describe(outputs[o].ref()) +
                                ", are on two devices; move one with .to(device)");
  }
}

}  // namespace
}  // namespace detail

struct CustomVjp::State {
  Forward forward;
  Backward backward;
  VjpOptions options;
};

CustomVjp::CustomVjp(Forward forward, Backward backward, VjpOptions options, Where at) {
  if (!forward || !backward)
    detail::fail<ValueError>(at, options.name + ": forward and backward are to be functions");
  state_ = std::make_shared<const State>(
      State{std::move(forward), std::move(backward), std::move(options)});
}

std::vector<Tensor> CustomVjp::operator()(const TensorList& inputs) const try {
  using namespace detail;
  const Where at = inputs.at();
  const std::string& name = state_->options.name;
  std::vector<Tensor> given;
  for (const TensorArg& input : inputs.args()) {
    defined(input, name.c_str());
    given.emplace_back(Handle(input.ref()));
  }
  VjpResult made = state_->forward(given);
  check_outputs(name, made.outputs, at);
  if (!ambient().grad_enabled) return made.outputs;
  std::vector<Ref> refs;
  std::vector<Spec> specs;
  for (const Tensor& output : made.outputs) {
    refs.push_back(output.ref());
    specs.push_back({output.shape(), output.dtype()});
  }
  for (const Tensor& input : given) refs.push_back(input.ref());
  for (std::size_t r = 0; r < made.residuals.size(); ++r) {
    if (!made.residuals[r].defined())
      fail<ValueError>(at,
                       name + ": residual " + std::to_string(r + 1) + " of forward is undefined");
    refs.push_back(made.residuals[r].ref());
  }
  auto payload = std::make_shared<GradientPayload>();
  payload->name = name;
  payload->input_count = static_cast<std::uint32_t>(given.size());
  payload->undefined_cotangents = state_->options.undefined_cotangents;
  payload->gradient = [state = state_](const GradientCall& call,
                                       const std::vector<Tensor>& cotangents) {
    const auto& own = static_cast<const GradientPayload&>(*call.node->extra->payload);
    const auto first = static_cast<std::ptrdiff_t>(call.node->output_count + own.input_count);
    return state->backward({call.inputs.begin() + first, call.inputs.end()}, cotangents);
  };
  return record_call(vjp_op(), refs, {}, specs, made.outputs[0].ref().node->device,
                     std::move(payload), at);
} catch (const std::bad_alloc&) {
  detail::fail_memory(state_->options.name.c_str(), inputs.at());
}

CustomVjp custom_vjp(CustomVjp::Forward forward, CustomVjp::Backward backward, VjpOptions options,
                     Where at) {
  return CustomVjp(std::move(forward), std::move(backward), std::move(options), at);
}

}  // namespace weft
