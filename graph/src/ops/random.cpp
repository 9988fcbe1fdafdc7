// Random numbers. The number of the call is drawn here, at recording; the draw itself follows from
// it, the seed and the element's index.
#include <limits>
#include <mutex>

#include "rules.h"

namespace weft {
namespace detail {

// ---- rules

namespace {

bool is_one_of(const Spec& spec, DType a, DType b) { return spec.dtype == a || spec.dtype == b; }

}  // namespace

bool consistent_uniform(std::span<const Spec> inputs, const Attrs&, std::span<const Spec> outputs) {
  return inputs.empty() && outputs.size() == 1 && is_one_of(outputs[0], DType::f32, DType::f64);
}

bool consistent_normal(std::span<const Spec> inputs, const Attrs& attrs,
                       std::span<const Spec> outputs) {
  return consistent_uniform(inputs, attrs, outputs);
}

bool consistent_integers(std::span<const Spec> inputs, const Attrs&,
                         std::span<const Spec> outputs) {
  return inputs.empty() && outputs.size() == 1 && outputs[0].dtype == DType::i64;
}

bool consistent_permutation(std::span<const Spec> inputs, const Attrs& attrs,
                            std::span<const Spec> outputs) {
  return consistent_integers(inputs, attrs, outputs) && outputs[0].shape.ndim() == 1;
}

// ---- recording

namespace {

/// One call of a generator.
struct Draw {
  std::uint64_t seed, call;
};

struct ProgramGenerator {
  std::mutex mutex;
  Generator generator{0x77656674};  // "weft": a program that seeds nothing repeats itself
};

ProgramGenerator& program_generator() {
  static auto* shared = new ProgramGenerator;  // reachable for ever: static destructors may draw
  return *shared;
}

/// The next call of this generator, or of the program's where there is none.
Draw next_draw(Generator* generator) {
  if (generator) return {generator->seed(), generator->next()};
  ProgramGenerator& shared = program_generator();
  const std::lock_guard lock(shared.mutex);
  return {shared.generator.seed(), shared.generator.next()};
}

Attrs attrs_of(Draw draw) {
  Attrs attrs;
  attrs.v[0] = static_cast<std::int64_t>(draw.seed);
  attrs.v[1] = static_cast<std::int64_t>(draw.call);
  return attrs;
}

/// What a call asks for; checked before the call's number is drawn.
struct Request {
  Shape shape;
  DType dtype;
  Device device;
};

Request request(const char* op, const Shape& shape, DType dtype, const TensorOptions& options,
                Where at) {
  check_size(op, shape, DType::i64, at);
  return {shape, options.dtype.value_or(dtype), placement(options, Device::cpu(), at)};
}

void check_floating(const char* op, DType dtype, Where at) {
  if (!is_floating(dtype))
    fail<DTypeError>(at, std::string(op) + ": draws floats, not " + name_str(dtype) +
                             "; take a float dtype, or randint");
}

/// Uniform on [0, 1), which rounding to a half must not leave: its draw keeps as many bits as the
/// half's significand has, so that it is exact.
Tensor uniform(const Request& wanted, Generator* generator, Where at) {
  const DType drawn = wide(wanted.dtype);
  const Tensor u = record_new(OpId::uniform, attrs_of(next_draw(generator)), {wanted.shape, drawn},
                              wanted.device, at);
  if (drawn == wanted.dtype) return u;
  const WithoutOn as_named;
  const double steps = wanted.dtype == DType::f16 ? 2048 : 256;  // 11 and 8 bits
  const Tensor whole = floor({mul({u, at}, {steps, at}), at});
  return cast({mul({whole, at}, {1 / steps, at}), at}, wanted.dtype);
}

Tensor uniform(const Shape& shape, Generator* generator, const TensorOptions& options, Where at) {
  const Request wanted = request("rand", shape, default_dtype(), options, at);
  check_floating("rand", wanted.dtype, at);
  return uniform(wanted, generator, at);
}

Tensor normal(const Shape& shape, Generator* generator, const TensorOptions& options, Where at) {
  const Request wanted = request("randn", shape, default_dtype(), options, at);
  check_floating("randn", wanted.dtype, at);
  const Tensor drawn = record_new(OpId::normal, attrs_of(next_draw(generator)),
                                  {shape, wide(wanted.dtype)}, wanted.device, at);
  const WithoutOn as_named;
  return cast({drawn, at}, wanted.dtype);
}

/// Least and greatest integer of a dtype; of floats, all that an i64 holds.
std::pair<std::int64_t, std::int64_t> range_of(DType dtype) {
  switch (dtype) {
    case DType::bool_: return {0, 1};
    case DType::u8: return {0, 255};
    case DType::i8: return {-128, 127};
    case DType::i32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

Tensor integers(std::int64_t low, std::int64_t high, const Shape& shape, Generator* generator,
                const TensorOptions& options, Where at) {
  const Request wanted = request("randint", shape, DType::i64, options, at);
  const std::string range = std::to_string(low) + " to " + std::to_string(high);
  if (high <= low)
    fail<ValueError>(at, "randint: no integer lies from " + range +
                             ", the last excluded; give a high above low");
  const auto [least, greatest] = range_of(wanted.dtype);
  if (low < least || high - 1 > greatest)
    fail<ValueError>(at, "randint: " + name_str(wanted.dtype) + " does not hold all from " + range +
                             ", the last excluded; take a wider dtype");
  Attrs attrs = attrs_of(next_draw(generator));
  attrs.v[2] = low;
  attrs.v[3] =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
  const Tensor drawn = record_new(OpId::integers, attrs, {shape, DType::i64}, wanted.device, at);
  const WithoutOn as_named;
  return cast({drawn, at}, wanted.dtype);
}

Tensor permutation(std::int64_t n, Generator* generator, const TensorOptions& options, Where at) {
  const Request wanted = request("randperm", Shape(n), DType::i64, options, at);
  if (wanted.dtype == DType::bool_)
    fail<DTypeError>(at, "randperm: bools do not tell positions apart; take an integer dtype");
  const Tensor drawn = record_new(OpId::permutation, attrs_of(next_draw(generator)),
                                  {wanted.shape, DType::i64}, wanted.device, at);
  const WithoutOn as_named;
  return cast({drawn, at}, wanted.dtype);
}

}  // namespace
}  // namespace detail

void manual_seed(std::uint64_t seed) {
  detail::ProgramGenerator& shared = detail::program_generator();
  const std::lock_guard lock(shared.mutex);
  shared.generator = Generator(seed);
}

Tensor rand(const Shape& shape, const TensorOptions& options, Where at) {
  return detail::uniform(shape, nullptr, options, at);
}
Tensor rand(const Shape& shape, Generator& generator, const TensorOptions& options, Where at) {
  return detail::uniform(shape, &generator, options, at);
}
Tensor randn(const Shape& shape, const TensorOptions& options, Where at) {
  return detail::normal(shape, nullptr, options, at);
}
Tensor randn(const Shape& shape, Generator& generator, const TensorOptions& options, Where at) {
  return detail::normal(shape, &generator, options, at);
}
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape,
               const TensorOptions& options, Where at) {
  return detail::integers(low, high, shape, nullptr, options, at);
}
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator& generator,
               const TensorOptions& options, Where at) {
  return detail::integers(low, high, shape, &generator, options, at);
}
Tensor randperm(std::int64_t n, const TensorOptions& options, Where at) {
  return detail::permutation(n, nullptr, options, at);
}
Tensor randperm(std::int64_t n, Generator& generator, const TensorOptions& options, Where at) {
  return detail::permutation(n, &generator, options, at);
}

Tensor bernoulli(double p, const Shape& shape, const TensorOptions& options, Where at) {
  const detail::Request wanted = detail::request("bernoulli", shape, default_dtype(), options, at);
  if (!(p >= 0 && p <= 1))
    detail::fail<ValueError>(at, "bernoulli: " + std::to_string(p) +
                                     " is no probability; give one from 0 to 1");
  const Tensor u = detail::uniform({shape, DType::f32, wanted.device}, nullptr, at);
  const detail::WithoutOn as_named;
  return cast({lt({u, at}, {p, at}), at}, wanted.dtype);
}

}  // namespace weft
