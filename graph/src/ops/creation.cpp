// New tensors: host data, constants, and sequences. Constants and sequences hold no memory.
#include <algorithm>
#include <bit>
#include <memory>

#include <weft/graph/detail/evaluator.h>

#include "rules.h"

namespace weft {
namespace detail {
namespace {

std::int64_t bits_of(double value) noexcept { return std::bit_cast<std::int64_t>(value); }

Tensor data_leaf(BufferRef buffer, const Spec& spec, Where at) {
  Node* node = new_node(OpId::data, 0, at);
  Tensor leaf(Handle::adopt({node, 0}));
  node->dtype = spec.dtype;
  node->rank = static_cast<std::uint8_t>(spec.shape.ndim());
  for (int i = 0; i < spec.shape.ndim(); ++i) node->dims[i] = spec.shape[i];
  node->output_count = 1;
  node->device = Device::cpu();
  node->storage.buffer = std::move(buffer);
  node->state.store(NodeState::issued, std::memory_order_release);
  return leaf;
}

/// Host elements of one dtype as a tensor of another, on a device. An undecided device leaves the
/// leaf on the cpu, where it is: the planner moves it to where it is used.
Tensor from_elements(DType from, const void* data, const Spec& spec, Device device, Where at) try {
  const std::size_t count = static_cast<std::size_t>(spec.shape.numel());
  std::unique_ptr<unsigned char[]> converted;
  if (from != spec.dtype && count > 0) {
    converted.reset(new unsigned char[count * size_of(spec.dtype)]);
    convert_elements(from, data, spec.dtype, converted.get(), static_cast<std::int64_t>(count));
    data = converted.get();
  }
  const std::size_t bytes = count * size_of(spec.dtype);
  const Tensor leaf = data_leaf(evaluator().host_copy(data, bytes, at), spec, at);
  count_pending_bytes(bytes);
  if (device.is_cpu() || device.kind() == DeviceKind::automatic) return leaf;
  const WithoutOn as_named;
  const Ref ref = leaf.ref();
  return record_structured(OpId::upload, {&ref, 1}, {}, spec, device, at);
} catch (const std::bad_alloc&) {
  fail_memory("tensor", at);
}

/// What is left of a nested list on the way down to its numbers.
struct Numbers {
  Shape shape;
  std::vector<Nested::Number> flat;
  Operand::Number kind = Operand::Number::none;
};

void collect(const Nested& data, int depth, Numbers& numbers, Where at) {
  if (!data.is_list()) {
    if (depth != numbers.shape.ndim())
      fail<ShapeError>(at, "tensor: a number stands where a list of " +
                               std::to_string(numbers.shape[depth]) +
                               " is expected; make all rows equally deep");
    if (data.number().is_too_large) fail_wide_number(at);
    numbers.flat.push_back(data.number());
    numbers.kind = std::max(numbers.kind, data.number().kind);
    return;
  }
  const auto size = static_cast<std::int64_t>(data.size());
  if (depth >= numbers.shape.ndim())
    fail<ShapeError>(at, "tensor: a list of " + std::to_string(size) +
                             " stands where a number is expected; make all rows equally deep");
  if (size != numbers.shape[depth])
    fail<ShapeError>(at, "tensor: rows differ in length: one of " +
                             std::to_string(numbers.shape[depth]) + ", one of " +
                             std::to_string(size) + "; make all rows equally long");
  for (const Nested& item : data) collect(item, depth + 1, numbers, at);
}

DType dtype_of_kind(Operand::Number kind) noexcept {
  if (kind == Operand::Number::boolean) return DType::bool_;
  return kind == Operand::Number::integer ? DType::i64 : default_dtype();
}

}  // namespace

Tensor constant(const Operand& number, DType dtype, Device device, Where at) {
  // Through the dtype and back, so that the argument is a value that the dtype has.
  const bool is_decimal = number.number() == Operand::Number::decimal;
  const std::int64_t given = is_decimal ? bits_of(number.decimal()) : number.integer();
  const DType carrier = is_floating(dtype) ? DType::f64 : DType::i64;
  std::int64_t element = 0, bits = 0;
  convert_elements(is_decimal ? DType::f64 : DType::i64, &given, dtype, &element, 1);
  convert_elements(dtype, &element, carrier, &bits, 1);
  Attrs attrs;
  attrs.v[0] = bits;
  return record_new(OpId::scalar, attrs, {Shape(), dtype}, device, at);
}

Tensor from_bytes(const void* data, std::int64_t count, DType dtype, const Shape& shape,
                  const TensorOptions& options, Where at) {
  const Spec spec{shape, options.dtype.value_or(dtype)};
  check_size("from_span", shape, spec.dtype, at);
  if (shape.numel() != count)
    fail<ShapeError>(at, "from_span: " + std::to_string(count) + " elements do not fill " +
                             shape.str() + ", which has " + std::to_string(shape.numel()) +
                             "; give a shape of that many");
  return from_elements(dtype, data, spec, placement(options, Device::cpu(), at), at);
}

Tensor borrowed(void* data, const Shape& shape, DType dtype, void (*release)(void* context),
                void* context, Where at) {
  check_size("from_borrowed", shape, dtype, at);
  const std::size_t bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  return data_leaf(evaluator().host_borrow(data, bytes, release, context), {shape, dtype}, at);
}

namespace {

Tensor filled(const char* op, const Shape& shape, const Operand& value, DType dtype, Device device,
              Where at) {
  check_size(op, shape, dtype, at);
  check_number(op, value, dtype, at);
  const Tensor number = constant(value, dtype, device, at);
  if (shape.empty()) return number;
  const WithoutOn as_named;
  const Ref ref = number.ref();
  return record_structured(OpId::expand, {&ref, 1}, {}, {shape, dtype}, device, at);
}

/// A 0-dim tensor repeated: `full` with a value that is itself recorded.
Tensor filled_with_tensor(const char* op, const Shape& shape, const TensorArg& value,
                          std::optional<DType> dtype, std::optional<Device> device) {
  const Spec given = spec_of(value, op);
  if (!given.shape.empty())
    fail<ShapeError>(value.at(), std::string(op) + ": the value has axes: " +
                                     describe(value.ref()) + "; give a number or a 0-dim tensor");
  const DType target = dtype.value_or(given.dtype);
  check_size(op, shape, target, value.at());
  const Tensor number = cast(value, target);
  const Dims extents(shape, value.at());
  if (!device) return expand({number, value.at()}, extents);
  const WithoutOn as_named;
  return expand({moved({number, value.at()}, *device), value.at()}, extents);
}

Tensor filled_like(const char* op, const TensorArg& x, const Operand& value,
                   const TensorOptions& options) {
  const Spec spec = spec_of(x, op);
  const Device device = placement(options, x.ref().node->device, x.at());
  const DType dtype = options.dtype.value_or(spec.dtype);
  if (!value.is_number()) return filled_with_tensor(op, spec.shape, value, dtype, device);
  return filled(op, spec.shape, value, dtype, device, x.at());
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor tensor(const Nested& data, const TensorOptions& options, Where at) try {
  Numbers numbers;
  for (const Nested* level = &data; level->is_list(); level = level->begin()) {
    numbers.shape.push_back(static_cast<std::int64_t>(level->size()), at);
    if (level->size() == 0) break;
  }
  collect(data, 0, numbers, at);
  const Spec spec{numbers.shape, options.dtype.value_or(dtype_of_kind(numbers.kind))};
  const Device device = placement(options, Device::cpu(), at);
  if (numbers.kind == Operand::Number::decimal) {
    std::vector<double> decimals;
    for (const Nested::Number& number : numbers.flat) decimals.push_back(number.decimal);
    return from_elements(DType::f64, decimals.data(), spec, device, at);
  }
  std::vector<std::int64_t> integers;
  for (const Nested::Number& number : numbers.flat) integers.push_back(number.integer);
  return from_elements(DType::i64, integers.data(), spec, device, at);
} catch (const std::bad_alloc&) {
  fail_memory("tensor", at);
}

Tensor zeros(const Shape& shape, const TensorOptions& options, Where at) {
  return filled("zeros", shape, 0, options.dtype.value_or(default_dtype()),
                placement(options, Device::cpu(), at), at);
}

Tensor ones(const Shape& shape, const TensorOptions& options, Where at) {
  return filled("ones", shape, 1, options.dtype.value_or(default_dtype()),
                placement(options, Device::cpu(), at), at);
}

Tensor full(const Shape& shape, const Operand& value, const TensorOptions& options) {
  const Where at = value.at();
  if (!value.is_number()) {
    std::optional<Device> device;
    if (options.device) device = placement(options, Device::cpu(), at);
    return filled_with_tensor("full", shape, value, options.dtype, device);
  }
  return filled("full", shape, value, options.dtype.value_or(dtype_of_kind(value.number())),
                placement(options, Device::cpu(), at), at);
}

Tensor zeros_like(const TensorArg& x, const TensorOptions& options) {
  return filled_like("zeros_like", x, Operand(0, x.at()), options);
}

Tensor ones_like(const TensorArg& x, const TensorOptions& options) {
  return filled_like("ones_like", x, Operand(1, x.at()), options);
}

Tensor full_like(const TensorArg& x, const Operand& value, const TensorOptions& options) {
  return filled_like("full_like", x, value, options);
}

}  // namespace weft
