// What the files of this folder share: checks, placement of new tensors, recording of one op.
#pragma once

#include <optional>
#include <string>

#include <weft/graph/detail/record.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>

namespace weft::detail {

// Of each structured op: whether its outputs are what its rule gives. Argument attributes hold
// slot numbers in plans, so none of these may read one.
#define WEFT_OP_STRUCTURED(name, ...)                                                              \
  bool consistent_##name(std::span<const Spec> inputs, const Attrs& attrs,                         \
                         std::span<const Spec> outputs);
#include <weft/graph/detail/ops.def>

/// Recording inside it ignores the enclosing On: for what names its device itself.
class WithoutOn {
 public:
  [[nodiscard]] WithoutOn() noexcept : previous_(ambient().on_set) { ambient().on_set = false; }
  WithoutOn(const WithoutOn&) = delete;
  WithoutOn& operator=(const WithoutOn&) = delete;
  ~WithoutOn() { ambient().on_set = previous_; }

 private:
  bool previous_;
};

inline Tensor tensor_of(const TensorArg& x) { return Tensor(Handle(x.ref())); }

/// Shape and dtype of a defined argument; ValueError naming op for an undefined one.
Spec spec_of(const TensorArg& x, const char* op);

/// ShapeError for a negative extent, or where the bytes overflow 63 bits.
void check_size(const char* op, const Shape& shape, DType dtype, Where at);

/// Sum and product of extents of what is made of x; ShapeError naming op where it overflows 63 bits.
std::int64_t sum_of_extents(const char* op, const TensorArg& x, std::int64_t a, std::int64_t b);
std::int64_t product_of_extents(const char* op, const TensorArg& x, std::int64_t a, std::int64_t b);

/// Where a new tensor goes: the options' device (DeviceError where there is none such), the
/// enclosing On's, or the fallback.
Device placement(const TensorOptions& options, Device fallback, Where at);

/// An op of one input, on the device of that input or of the enclosing On.
Tensor record_one(OpId op, const char* name, const TensorArg& x, const Attrs& attrs,
                  const Spec& spec);
/// An op without inputs on exactly this device.
Tensor record_new(OpId op, const Attrs& attrs, const Spec& spec, Device device, Where at);

/// ValueError naming op for a number that an integer dtype does not hold: NaN, an infinity, or one
/// out of its range. Fractions are cut off; negative integers wrap in u8, as in PyTorch.
void check_number(const char* op, const Operand& number, DType dtype, Where at);

/// A number that is part of the program's data: it promotes as a 0-dim tensor of its dtype.
Tensor constant(const Operand& number, DType dtype, Device device, Where at);

/// The same value on another device; the same tensor where it is there.
Tensor moved(const TensorArg& x, Device device);
/// The same, converted on the side where that leaves less to move.
Tensor moved(const TensorArg& x, Device device, DType dtype);

/// Axis by axis from the first: by numbers, ranges, tensors and masks.
Tensor indexed(const TensorArg& x, std::span<const Index> indices);

/// A composite's halves are computed as f32: widened on entry, rounded once on exit.
constexpr DType wide(DType dtype) noexcept {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

std::string name_str(DType dtype);
/// "axis 1" or "axes 0, 2": for messages.
std::string axes_str(const IntList& axes);

}  // namespace weft::detail
