// Modules that come with weft.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/graph/dtype.h>
#include <weft/graph/shape.h>
#include <weft/nn/module.h>

namespace weft::nn {

struct LinearOptions {
  bool bias = true;
  OptionalDevice device{};
  std::optional<DType> dtype{};
};

/// x [..., in] to [..., out]: x times the transpose of weight, plus bias. Both start uniform on
/// ±1/sqrt(in), as PyTorch's do.
class Linear : public Module {
 public:
  Linear(Dim in, Dim out, const LinearOptions& options = {}, Where at = {});
  using Module::forward;
  Tensor forward(const Tensor& x) const override;
  /// One with the same values that shares nothing with this.
  Linear clone(Where at = {}) const;

  Variable weight;  // [out, in]
  Variable bias;    // [out], or undefined

 private:
  Linear() = default;
};

/// max(x, 0)
class ReLU : public Module {
 public:
  using Module::forward;
  Tensor forward(const Tensor& x) const override;
};

/// All axes from `first` to `last` as one.
class Flatten : public Module {
 public:
  explicit Flatten(std::int64_t first = 1, std::int64_t last = -1) noexcept
      : first_(first), last_(last) {}
  using Module::forward;
  Tensor forward(const Tensor& x) const override;

 private:
  std::int64_t first_, last_;
};

/// Modules of one tensor, one after the other; named "0", "1", ... .
class Sequential : public Module {
 public:
  Sequential();
  // Not from one Sequential: that is a copy, which shares.
  template <class... M>
    requires(sizeof...(M) > 0 && (std::derived_from<std::remove_cvref_t<M>, Module> && ...) &&
             !(sizeof...(M) == 1 && (std::same_as<std::remove_cvref_t<M>, Sequential> && ...)))
  Sequential(M&&... modules) : Sequential() {
    (push_back(std::forward<M>(modules)), ...);
  }
  /// Adds a module, sharing its state.
  template <class M>
    requires std::derived_from<std::remove_cvref_t<M>, Module>
  Sequential& push_back(M&& module, Where at = {}) {
    return push_back(std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module)), at);
  }
  Sequential& push_back(std::shared_ptr<Module> module, Where at = {});
  std::size_t size() const noexcept { return modules_->size(); }
  /// IndexError out of range; negative counts from the end.
  Module& operator[](const Position& position) const;

  using Module::forward;
  Tensor forward(const Tensor& x) const override;

 private:
  std::shared_ptr<std::vector<std::shared_ptr<Module>>> modules_;
};

}  // namespace weft::nn
