// Guards that change how ops are recorded on the calling thread while they live.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <weft/graph/device.h>
#include <weft/graph/dtype.h>
#include <weft/graph/error.h>

namespace weft {

/// `On(automatic)`: the planner chooses the device.
struct Automatic {
  explicit Automatic() = default;
};
inline constexpr Automatic automatic{};

/// Ops recorded while it lives run on this device, wherever their inputs live: the planner inserts
/// the transfers.
class On {
 public:
  [[nodiscard]] explicit On(Device device, Where at = {});
  template <std::convertible_to<std::string_view> S>
  [[nodiscard]] explicit On(const S& device, Where at = {}) : On(Device(device, at), at) {}
  [[nodiscard]] explicit On(Automatic, Where at = {});
  On(const On&) = delete;
  On& operator=(const On&) = delete;
  ~On();

 private:
  Device previous_device_;
  bool previous_set_;
};

/// Names what is recorded while it lives: in plans, pictures, traces and errors. Nests.
class Scope {
 public:
  [[nodiscard]] explicit Scope(std::string_view name);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

 private:
  const void* previous_;
};

/// Nothing recorded while it lives has a gradient.
class NoGrad {
 public:
  [[nodiscard]] NoGrad() noexcept;
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
  ~NoGrad();

 private:
  bool previous_;
};

namespace detail {

/// A function that is made of other ops: how errors that are found when these run call it, and what
/// it looks up. Lives for good.
struct Composite {
  const char* name = "";
  const char* index = "index";    // what an index out of range is called
  const char* places = nullptr;   // what there are so many of; of an axis, if null
  bool counts_back = false;       // whether negative ones count from the end
};

/// Text as an argument of a template.
template <std::size_t size>
struct FixedText {
  char text[size];
  consteval FixedText(const char (&given)[size]) {
    for (std::size_t i = 0; i < size; ++i) text[i] = given[i];
  }
};
/// One that looks up nothing that could be out of range, by its name.
template <FixedText name>
inline constexpr Composite composite{name.text};

/// An interned scope path, "encoder/attention", or ""; never freed. Of what is recorded by a
/// composite: which one. Of what is recorded for the gradient of an op while anomalies are looked
/// for: which op that is.
struct ScopeName {
  const char* text;
  const Composite* composite = nullptr;
  const char* forward_op = nullptr;
  Where forward_at = Where::of("", 0);
};
/// The same path, within a composite.
const ScopeName* scope_within(const ScopeName* scope, const Composite* composite);
/// The same path, for the gradient of an op of this name, which lives for good.
const ScopeName* scope_of_gradient(const ScopeName* scope, const char* op, Where at);

/// What is looked for in each value while DetectAnomaly is in force.
enum class Anomalies : std::uint8_t { none, nan, nan_and_infinity };

/// What the calling thread's guards say, read by every recording.
struct Ambient {
  const ScopeName* scope = nullptr;
  Device on;
  bool on_set = false;
  bool grad_enabled = true;
  /// `compile` is tracing on this thread: reads throw TraceError, and no automatic flush happens.
  bool tracing = false;
  /// The dtype that products and convolutions run in where autocast is on; off where it is f32.
  DType autocast = DType::f32;
  Anomalies anomalies = Anomalies::none;
  /// Where set: the line that recorded nodes name, that of the program's call, instead of lines of
  /// the library.
  const Where* line = nullptr;
};
Ambient& ambient() noexcept;

/// Nodes recorded while it lives name this line: for gradients, optimisers, and functions that are
/// made of others. The outermost counts.
class LineOf {
 public:
  [[nodiscard]] explicit LineOf(Where at) noexcept : at_(at), previous_(ambient().line) {
    if (!previous_) ambient().line = &at_;
  }
  LineOf(const LineOf&) = delete;
  LineOf& operator=(const LineOf&) = delete;
  ~LineOf() { ambient().line = previous_; }

 private:
  Where at_;
  const Where* previous_;
};

/// What is recorded while it lives is of this function, for errors. The outermost counts: it is the
/// one that the program called.
class Within {
 public:
  [[nodiscard]] explicit Within(const Composite& composite) noexcept;
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within() { ambient().scope = previous_; }

 private:
  const ScopeName* previous_;
};

}  // namespace detail
}  // namespace weft
