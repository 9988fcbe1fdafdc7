#include "cuda_code.h"

#include <bit>
#include <utility>

#include "../run.h"
#include "compatibility.h"
#include "cuda_device.h"

namespace weft::detail {

namespace {

constexpr int largest_vector = 4;                       // 16 bytes
constexpr std::uint32_t free_shared_bytes = 48 * 1024;  // beyond, a function must ask
constexpr int attribute_dynamic_shared = 8;

int alignment_of(std::uintptr_t address) noexcept {
  return std::min(largest_vector, address ? std::countr_zero(address) : largest_vector);
}

KernelOperand operand_of(const ResolvedOperand& resolved) {
  KernelOperand operand;
  operand.dtype = resolved.dtype;
  operand.rank = resolved.rank;
  for (int d = 0; d < resolved.rank; ++d) {
    operand.shape[d] = resolved.shape[d];
    operand.strides[d] = resolved.strides[d];
  }
  operand.alignment = 1u << alignment_of(resolved.data);
  return operand;
}

KernelStep kernel_step(const Run& run, const FrozenStep& step) {
  KernelStep kernel;
  kernel.op = step.op;
  kernel.attrs = step.attrs;
  kernel.program = step.program.get();
  kernel.guards_state = step.guards_state;
  kernel.numerics = run.plan().numerics;
  for (const StepInput& input : step.inputs)
    kernel.inputs.push_back(operand_of(run.resolve(input)));
  for (const StepOutput& output : step.outputs)
    kernel.outputs.push_back(operand_of(run.resolve(output)));
  return kernel;
}

/// Two bits and a half an operand would do: three.
std::vector<std::uint8_t> alignments_of(const Run& run, const FrozenStep& step) {
  std::vector<std::uint8_t> key;
  key.reserve(step.inputs.size() + step.outputs.size());
  for (const StepInput& input : step.inputs)
    key.push_back(static_cast<std::uint8_t>(alignment_of(run.resolve(input).data)));
  for (const StepOutput& output : step.outputs)
    key.push_back(static_cast<std::uint8_t>(alignment_of(run.resolve(output).data)));
  return key;
}

bool has_kernels(const FrozenStep& step) {
  return step.kind == StepKind::kernel || step.kind == StepKind::library;
}

/// Leaves a product to the library where that is allowed, worth it and possible.
void choose_product(CudaDevice& device, const Run& run, const FrozenStep& step,
                    const std::vector<std::uint8_t>& alignments, CudaCode& code) {
  const FrozenPlan& plan = run.plan();
  if (!code.sequence.product || plan.numerics == Numerics::strict) return;
  // The library would write a Variable's new value even where the run has failed.
  if (step.guards_state && !plan.fallible.empty()) return;
  const ProductAlignments bytes{1u << alignments[0], 1u << alignments[1], 1u << alignments[2]};
  std::string why_not;
  code.product = device.modules().products().find(device, *code.sequence.product,
                                                  plan.matmul_precision, bytes, why_not);
  if (!code.product) return;
  code.sequence.launches.clear();
  code.sequence.workspace_bytes = code.product->workspace_bytes();
}

}  // namespace

CudaPlanCode::Variant& CudaPlanCode::variant_of(CudaDevice& device, const Run& run,
                                                std::uint32_t number) {
  const FrozenStep& step = run.plan().steps[number];
  std::vector<std::uint8_t> alignments = alignments_of(run, step);
  auto& variants = steps_[number];
  for (const auto& variant : variants)
    if (variant->alignments == alignments) return *variant;
  auto made = std::make_unique<Variant>();
  made->alignments = std::move(alignments);
  made->code.sequence = emit(kernel_step(run, step), device.facts());
  choose_product(device, run, step, made->alignments, made->code);
  for (const KernelLaunch& launch : made->code.sequence.launches)
    made->builds.push_back(device.calls().takes_texts
                               ? nullptr
                               : kernel_builder().request(launch.source, device.arch()));
  variants.push_back(std::move(made));
  return *variants.back();
}

std::vector<const CudaCode*> CudaPlanCode::prepare(CudaDevice& device, const Run& run,
                                                   std::uint32_t first, std::uint32_t last) {
  std::vector<Variant*> variants;
  for (std::uint32_t i = first; i < last; ++i)
    variants.push_back(has_kernels(run.plan().steps[i]) ? &variant_of(device, run, i) : nullptr);
  std::vector<const CudaCode*> code;
  for (Variant* variant : variants) {
    code.push_back(variant ? &variant->code : nullptr);
    if (!variant) continue;
    CudaCode& loaded = variant->code;
    if (loaded.functions.size() == loaded.sequence.launches.size()) continue;
    const WithContext with(device);
    loaded.functions.clear();
    for (std::size_t k = 0; k < loaded.sequence.launches.size(); ++k) {
      const KernelLaunch& launch = loaded.sequence.launches[k];
      KernelHandle& build = variant->builds[k];
      if (!build && !device.calls().takes_texts)  // it failed before
        build = kernel_builder().request(launch.source, device.arch());
      const KernelHandle asked = std::exchange(build, nullptr);
      loaded.functions.push_back(device.modules().load(device, launch, asked));
    }
    variant->builds.clear();
    variant->builds.shrink_to_fit();
  }
  return code;
}

namespace {

/// Whether a driver says by this that it can not use machine code: an image that it does not know,
/// none for the GPU, or made by a compiler that is too new for it.
bool refuses_code(CuStatus status) noexcept {
  return status == 200 || status == 209 || status == 218 || status == 222 || status == 223;
}

[[noreturn]] void fail_refused(CudaDevice& device, CuStatus status, const std::string& entry) {
  const char* name = nullptr;
  int driver = 0;
  device.calls().error_name(status, &name);
  device.calls().driver_version(&driver);
  const int nvrtc = nvrtc_info().version;
  fail<DeviceError>(
      no_place, device.device().str() + ": the driver refuses the code of kernel '" + entry +
                    "' (cuModuleLoadData: " + (name ? name : std::to_string(status)) + "): NVRTC " +
                    cuda_version_text(nvrtc) + " made it for sm_" + std::to_string(device.arch()) +
                    ", and the driver supports CUDA " + cuda_version_text(driver) +
                    "; update the driver, or set WEFT_NVRTC_PATH to an NVRTC that is not newer");
}

}  // namespace

CuFunction CudaModules::load(CudaDevice& device, const KernelLaunch& launch,
                             const KernelHandle& build) {
  const std::pair<std::string, bool> key(launch.source->text, launch.source->fast);
  const auto found = functions_.find(key);
  if (found != functions_.end()) return found->second;
  const Cubin cubin = build ? kernel_builder().wait(build) : nullptr;
  const DriverCalls& calls = device.calls();
  CuModule module = nullptr;
  const CuStatus loaded =
      calls.load_module(&module, cubin ? cubin->data() : launch.source->text.c_str());
  if (refuses_code(loaded)) fail_refused(device, loaded, launch.source->entry);
  device.check(loaded, "cuModuleLoadData");
  CuFunction function = nullptr;
  try {
    device.check(calls.get_function(&function, module, launch.source->entry.c_str()),
                 "cuModuleGetFunction");
    if (launch.shared_bytes > free_shared_bytes)
      device.check(calls.set_function_attribute(function, attribute_dynamic_shared,
                                                static_cast<int>(device.facts().shared_bytes)),
                   "cuFuncSetAttribute");
    functions_.emplace(key, function);
  } catch (...) {
    calls.unload_module(module);
    throw;
  }
  return function;
}

}  // namespace weft::detail
