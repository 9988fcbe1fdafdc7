// Gradients checked against finite differences, in f64.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <weft/graph/autograd.h>
#include <weft/graph/functions.h>

namespace weft::testing {

using Values = std::vector<double>;
using Function = std::function<Tensor(const std::vector<Tensor>&)>;

inline Values values(const Tensor& x) { return x.to_vector<double>(); }
inline Tensor of(const Values& data, const Shape& shape) { return from_vector(data, shape); }
inline Tensor of(const Values& data) { return from_vector(data); }

inline bool is_near(const Values& got, const Values& want, double tolerance = 1e-12) {
  if (got.size() != want.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!(std::abs(got[i] - want[i]) <= tolerance * std::max(1.0, std::abs(want[i])))) return false;
  return true;
}

/// Numbers without pattern from -1 to 1, none near 0.
inline Tensor varied(const Shape& shape, int seed) {
  Values data;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const double x = std::sin(1.7 * static_cast<double>(i) + 0.9 * seed + 0.4);
    data.push_back(x + (x < 0 ? -0.1 : 0.1));
  }
  return of(data, shape);
}

/// d Σ f(inputs)·weights / d input `k`, by central differences.
inline Values differences(const Function& f, const std::vector<Tensor>& inputs, std::size_t k,
                          const Tensor& weights) {
  const Values base = values(inputs[k]);
  Values result;
  for (std::size_t i = 0; i < base.size(); ++i) {
    double ends[2];
    for (const int side : {0, 1}) {
      Values moved = base;
      moved[i] += side ? 1e-5 : -1e-5;
      std::vector<Tensor> changed = inputs;
      changed[k] = of(moved, inputs[k].shape());
      ends[side] = sum(f(changed) * weights).item<double>();
    }
    result.push_back((ends[1] - ends[0]) / 2e-5);
  }
  return result;
}

/// What is wrong with the gradient of f at these inputs; empty if nothing is.
inline std::string gradient_fault(const Function& f, const std::vector<Tensor>& inputs) {
  const Tensor output = f(inputs);
  const Tensor cotangent = varied(output.shape(), 5);
  const std::vector<Tensor> gradients = grad(output, inputs, cotangent);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::string input = std::string("input ").append(std::to_string(k));
    if (gradients[k].shape() != inputs[k].shape()) return input + " has a gradient of another shape";
    const Values got = values(gradients[k]), want = differences(f, inputs, k, cotangent);
    if (!is_near(got, want, 2e-7)) {
      std::string text = input + ":";
      for (std::size_t i = 0; i < got.size(); ++i)
        text += " " + std::to_string(got[i]) + "/" + std::to_string(want[i]);
      return text;
    }
  }
  return "";
}

/// The same of f and of its gradients.
inline std::string second_order_fault(const Function& f, const std::vector<Tensor>& inputs) {
  if (std::string fault = gradient_fault(f, inputs); !fault.empty()) return "first: " + fault;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Function gradient = [&](const std::vector<Tensor>& at) {
      const Tensor output = f(at);
      // Some way of every input into it, so that each leads to the result.
      Tensor result = grad(output, at[k], varied(output.shape(), 3));
      for (const Tensor& x : at) result = result + sum(x * x);
      return result;
    };
    if (std::string fault = gradient_fault(gradient, inputs); !fault.empty())
      return "second, by input " + std::to_string(k) + ": " + fault;
  }
  return "";
}

}  // namespace weft::testing
