// Batches of a data set: the order of an epoch, and rows gathered on the host.
#include <algorithm>
#include <atomic>
#include <concepts>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>

#include <weft/graph/functions.h>
#include <weft/runtime/data.h>

#include "devices.h"

namespace weft::data {
namespace {

// A tensor's rows in host memory, from which batches are made.
class Rows {
 public:
  virtual ~Rows() = default;
  virtual Tensor gather(std::span<const std::int64_t> order, Device device, Where at) const = 0;
};

// `values` are whole rows, kept alive by `owner`; `convert` makes elements of T of them.
template <class T, class S, class Convert>
class RowsOf final : public Rows {
 public:
  RowsOf(std::shared_ptr<const void> owner, std::span<const S> values, Shape shape, Convert convert)
      : owner_(std::move(owner)), values_(values), shape_(shape), convert_(convert) {}

  Tensor gather(std::span<const std::int64_t> order, Device device, Where at) const override {
    Shape shape = shape_;
    shape[0] = static_cast<std::int64_t>(order.size());
    const std::size_t row =
        shape_[0] == 0 ? 0 : values_.size() / static_cast<std::size_t>(shape_[0]);
    const std::size_t count = row * order.size();
    const auto buffer = std::make_unique_for_overwrite<T[]>(count);
    T* to = buffer.get();
    for (const std::int64_t index : order)
      for (const S& value : values_.subspan(row * static_cast<std::size_t>(index), row))
        *to++ = convert_(value);
    return from_span(std::span<const T>(buffer.get(), count), shape, {.device = device}, at);
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const S> values_;
  Shape shape_;
  Convert convert_;
};

template <class T>
std::unique_ptr<Rows> rows_as(const Tensor& tensor, Where at) {
  // std::vector<bool> is no array of bool.
  using S = std::conditional_t<std::same_as<T, bool>, std::uint8_t, T>;
  auto values = std::make_shared<const std::vector<S>>(tensor.to_vector<S>(at));
  const auto same = [](S value) { return static_cast<T>(value); };
  return std::make_unique<RowsOf<T, S, decltype(same)>>(values, std::span<const S>(*values),
                                                        tensor.shape(), same);
}

std::unique_ptr<Rows> rows_of(const Tensor& tensor, Where at) {
  switch (tensor.dtype()) {
    case DType::f16: return rows_as<Half>(tensor, at);
    case DType::bf16: return rows_as<BFloat16>(tensor, at);
    case DType::f32: return rows_as<float>(tensor, at);
    case DType::f64: return rows_as<double>(tensor, at);
    case DType::i8: return rows_as<std::int8_t>(tensor, at);
    case DType::i32: return rows_as<std::int32_t>(tensor, at);
    case DType::i64: return rows_as<std::int64_t>(tensor, at);
    case DType::u8: return rows_as<std::uint8_t>(tensor, at);
    case DType::bool_: return rows_as<bool>(tensor, at);
  }
  detail::broken("every dtype has its rows", __FILE__, __LINE__);
}

template <class T, class Convert>
std::unique_ptr<Rows> rows_of_bytes(const Mnist& set, std::span<const std::uint8_t> bytes,
                                    Shape shape, Convert convert) {
  return std::make_unique<RowsOf<T, std::uint8_t, Convert>>(std::make_shared<const Mnist>(set),
                                                            bytes, shape, convert);
}

// Not std::uniform_int_distribution, whose results differ between standard libraries.
std::uint64_t draw_below(std::mt19937_64& engine, std::uint64_t bound) {
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t limit = largest - largest % bound;
  std::uint64_t value = engine();
  while (value >= limit) value = engine();
  return value % bound;
}

std::vector<std::int64_t> shuffled(std::vector<std::int64_t> order, std::uint64_t seed,
                                   std::uint64_t epoch) {
  std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(epoch >> 32)};
  std::mt19937_64 engine(words);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[draw_below(engine, i)]);
  return order;
}

}  // namespace

struct Loader::State {
  std::unique_ptr<Rows> images, labels;
  std::int64_t count;
  LoaderOptions options;
  Where at;
  std::atomic<std::uint64_t> epochs{0};

  State(std::int64_t rows, LoaderOptions chosen, Where where)
      : count(rows), options(chosen), at(where) {
    if (chosen.batch <= 0)
      detail::fail<ValueError>(where, "Loader: batch is " + std::to_string(chosen.batch) +
                                          "; give 1 or more");
    detail::require_device(chosen.device, where);
  }
};

Loader::Loader(Mnist set, LoaderOptions options, Where at) try
    : state_(std::make_shared<State>(set.size(), options, at)) {
  state_->images =
      rows_of_bytes<float>(set, set.pixels(), {set.size(), 1, set.height(), set.width()},
                           [](std::uint8_t pixel) { return static_cast<float>(pixel) / 255.0f; });
  state_->labels =
      rows_of_bytes<std::int64_t>(set, set.label_bytes(), {set.size()}, [](std::uint8_t label) {
        return static_cast<std::int64_t>(label);
      });
} catch (const std::bad_alloc&) {
  detail::fail_memory("Loader", at);
}

Loader::Loader(const Tensor& inputs, const Tensor& targets, LoaderOptions options, Where at) try {
  if (inputs.ndim() == 0 || targets.ndim() == 0 || inputs.shape()[0] != targets.shape()[0])
    detail::fail<ShapeError>(at, "Loader: inputs and targets must have first axes of one length: " +
                                     inputs.shape().str() + ", " + targets.shape().str() +
                                     "; slice or reshape one");
  state_ = std::make_shared<State>(inputs.shape()[0], options, at);
  state_->images = rows_of(inputs, at);
  state_->labels = rows_of(targets, at);
} catch (const std::bad_alloc&) {
  detail::fail_memory("Loader", at);
}

std::int64_t Loader::size() const noexcept {
  const std::int64_t batch = state_->options.batch;
  const std::int64_t full = state_->count / batch;
  return full + (state_->count % batch != 0 && !state_->options.drop_last ? 1 : 0);
}

Loader::Iterator Loader::begin() try {
  std::vector<std::int64_t> order(static_cast<std::size_t>(state_->count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const std::uint64_t epoch = state_->epochs.fetch_add(1);
  if (state_->options.shuffle) order = shuffled(std::move(order), state_->options.seed, epoch);
  const std::int64_t used = std::min(state_->count, size() * state_->options.batch);
  order.resize(static_cast<std::size_t>(used));
  return Iterator(state_, std::move(order));
} catch (const std::bad_alloc&) {
  detail::fail_memory("Loader", state_->at);
}

Loader::Iterator::Iterator(std::shared_ptr<State> state, std::vector<std::int64_t> order)
    : state_(std::move(state)), order_(std::move(order)) {
  load();
}

Loader::Iterator& Loader::Iterator::operator++() {
  load();
  return *this;
}

void Loader::Iterator::load() try {
  batch_ = nullptr;
  const std::size_t left = order_.size() - next_;
  if (left == 0) return;
  const std::size_t count = std::min(left, static_cast<std::size_t>(state_->options.batch));
  const std::span<const std::int64_t> rows = std::span(order_).subspan(next_, count);
  const Device device = state_->options.device;
  batch_ = std::make_shared<Batch>(Batch{state_->images->gather(rows, device, state_->at),
                                         state_->labels->gather(rows, device, state_->at)});
  next_ += count;
} catch (const std::bad_alloc&) {
  detail::fail_memory("Loader", state_->at);
}

}  // namespace weft::data
