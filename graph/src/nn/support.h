// What the files of this folder share.
#pragma once

#include <initializer_list>
#include <string>

#include <weft/graph/detail/record.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>

namespace weft::detail {

inline Tensor as_tensor(const TensorArg& x) { return Tensor(Handle(x.ref())); }

constexpr bool is_half(DType dtype) noexcept {
  return dtype == DType::f16 || dtype == DType::bf16;
}
constexpr DType widened(DType dtype) noexcept { return is_half(dtype) ? DType::f32 : dtype; }

/// "f32[2,3]", with its device where that is not the cpu: for messages.
std::string describe(const Tensor& x);

/// x, floating; DTypeError otherwise.
Tensor floating_of(const char* op, const TensorArg& x);

/// DeviceError naming op unless the defined ones of these may work together.
void same_device(const char* op, std::initializer_list<Tensor> tensors, Where at);

/// State lives where it lives, whatever On stands around the call that changes it.
class WhereItLives {
 public:
  [[nodiscard]] WhereItLives() noexcept : previous_(ambient().on_set) { ambient().on_set = false; }
  WhereItLives(const WhereItLives&) = delete;
  WhereItLives& operator=(const WhereItLives&) = delete;
  ~WhereItLives() { ambient().on_set = previous_; }

 private:
  bool previous_;
};

/// While a module is called: the line of that call, for what its forward records; else `here`.
Where call_line(Where here = {}) noexcept;
/// Makes `at` the line of the module call in progress.
class CallLine {
 public:
  [[nodiscard]] explicit CallLine(Where at) noexcept;
  CallLine(const CallLine&) = delete;
  CallLine& operator=(const CallLine&) = delete;
  ~CallLine();

 private:
  Where at_;
  const Where* previous_;
};

}  // namespace weft::detail
