// Functions of the program as steps.
#include <exception>
#include <vector>

#include <weft/graph/detail/custom.h>

#include "cpu/host.h"
#include "cpu/rows.h"
#include "cpu/workspace.h"

namespace weft::detail {

bool& inside_host_function() noexcept {
  static thread_local bool inside = false;
  return inside;
}

namespace {

class Inside {
 public:
  Inside() noexcept { inside_host_function() = true; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { inside_host_function() = false; }
};

TensorSpec spec_of(const ResolvedOperand& operand) {
  TensorSpec spec{{}, operand.dtype};
  for (int d = 0; d < operand.rank; ++d) spec.shape.push_back(operand.shape[d]);
  return spec;
}

bool is_dense(const ResolvedOperand& operand) {
  std::int64_t stride = 1;
  for (int d = operand.rank; d-- > 0; stride *= operand.shape[d])
    if (operand.shape[d] != 1 && operand.strides[d] != stride) return operand.numel() == 0;
  return true;
}

std::size_t room_of(const ResolvedOperand& operand) {
  return is_dense(operand) ? 0 : (static_cast<std::size_t>(size_in_bytes(operand)) + 63) / 64 * 64;
}

const HostFunction& function_of(const StepCall& call) {
  if (const KernelBody* body = kernel_body(call.step->op)) return body->kernel.cpu;
  WEFT_ENSURE(call.payload != nullptr);
  return static_cast<const HostCall&>(*call.payload).run;
}

[[noreturn]] void fail_call(const StepCall& call, const std::string& what) {
  std::string name(info(call.step->op).name);
  if (call.payload) name = static_cast<const GradientPayload&>(*call.payload).name;
  if (*call.scope) name += std::string(" in scope ") + call.scope;
  std::throw_with_nested(
      CallbackError(name + ": its function threw " + what +
                        ". What depends on it was not computed, and no Variable has changed",
                    call.at));
}

void call_function(const StepCall& call, std::span<const HostInput> inputs,
                   std::span<const HostOutput> outputs) {
  const HostFunction& function = function_of(call);
  const Inside inside;
  try {
    function(inputs, outputs);
  } catch (const std::exception& error) {
    fail_call(call, std::string("\"") + error.what() + "\"");
  } catch (...) {
    fail_call(call, "what is no std::exception");
  }
}

}  // namespace

void run_host_function(const StepCall& call) {
  std::size_t bytes = 0;
  for (const ResolvedOperand& operand : call.inputs) bytes += room_of(operand);
  const Scratch room(bytes);
  char* next = room.bytes();
  std::vector<HostInput> inputs;
  std::vector<HostOutput> outputs;
  for (const ResolvedOperand& operand : call.inputs) {
    const char* data = bytes_of(operand);
    if (const std::size_t size = room_of(operand)) {
      copy_strided(dense_like(operand, next), operand);
      data = next;
      next += size;
    }
    inputs.emplace_back(spec_of(operand), data);
  }
  for (const ResolvedOperand& operand : call.outputs)
    outputs.emplace_back(spec_of(operand), bytes_of(operand));
  call_function(call, inputs, outputs);
}

}  // namespace weft::detail
