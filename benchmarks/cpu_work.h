// The work of the CPU rows: sizes, random data, and what must come out, in float64. Shared by
// cpu.cpp (weft) and cpu_eigen.cpp (by hand, without weft); peers_cpu.py has the same names and
// sizes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

inline constexpr std::size_t chain_large = 1 << 24, chain_small = 1 << 14;

/// m x k times k x n.
struct ProductSize {
  std::size_t m, k, n;
  std::string name() const {
    return "C2 " + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n);
  }
  double flops() const { return 2.0 * static_cast<double>(m * k * n); }
};
inline constexpr std::array<ProductSize, 5> product_sizes{
    {{256, 256, 256}, {1024, 1024, 1024}, {2048, 2048, 2048}, {256, 784, 512}, {1, 1024, 1024}}};

inline constexpr std::size_t row_count = 4096, row_length = 1024;
inline constexpr float norm_epsilon = 1e-5f;

inline constexpr std::size_t batch = 256, features = 784, hidden = 256, classes = 10;
inline constexpr float rate = 0.05f;

inline std::vector<float> drawn(std::size_t count, unsigned seed, float low = -2, float high = 2) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

/// Throws where they are further apart than `bound`, or where the value is none.
inline void check(double got, double wanted, double bound, const std::string& what, std::size_t i) {
  if (!(std::abs(got - wanted) <= bound))
    throw std::runtime_error("wrong value: " + what + " at " + std::to_string(i) + ": " +
                             std::to_string(got) + ", not " + std::to_string(wanted));
}

using Floats = std::vector<float>;

/// relu(a * b + c) * tanh(d) - e
inline void check_chain(const float* a, const float* b, const float* c, const float* d,
                        const float* e, const float* got, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double product = std::max(double{a[i]} * b[i] + c[i], 0.0) * std::tanh(double{d[i]});
    check(got[i], product - e[i], 2e-6 * (1 + std::abs(product)), "C1", i);
  }
}

/// Of up to 16 rows spread over the product.
inline void check_product(const float* a, const float* b, const float* got,
                          const ProductSize& size) {
  const std::size_t rows = std::min<std::size_t>(size.m, 16);
  std::vector<double> wanted(size.n), magnitude(size.n);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t i = rows == 1 ? 0 : r * (size.m - 1) / (rows - 1);
    std::fill(wanted.begin(), wanted.end(), 0.0);
    std::fill(magnitude.begin(), magnitude.end(), 0.0);
    for (std::size_t k = 0; k < size.k; ++k)
      for (std::size_t j = 0; j < size.n; ++j) {
        const double product = double{a[i * size.k + k]} * b[k * size.n + j];
        wanted[j] += product;
        magnitude[j] += std::abs(product);
      }
    for (std::size_t j = 0; j < size.n; ++j)
      check(got[i * size.n + j], wanted[j], 2e-6 * magnitude[j], size.name(), i * size.n + j);
  }
}

inline void check_softmax(const float* x, const float* got) {
  for (std::size_t i = 0; i < row_count; ++i, x += row_length, got += row_length) {
    double total = 0;
    const double top = *std::max_element(x, x + row_length);
    for (std::size_t j = 0; j < row_length; ++j) total += std::exp(x[j] - top);
    for (std::size_t j = 0; j < row_length; ++j) {
      const double wanted = std::exp(x[j] - top) / total;
      check(got[j], wanted, 2e-6 * wanted, "C3 softmax", i * row_length + j);
    }
  }
}

inline void check_layer_norm(const float* x, const float* weight, const float* bias,
                             const float* got) {
  for (std::size_t i = 0; i < row_count; ++i, x += row_length, got += row_length) {
    double mean = 0, spread = 0;
    for (std::size_t j = 0; j < row_length; ++j) mean += x[j];
    mean /= row_length;
    for (std::size_t j = 0; j < row_length; ++j) spread += (x[j] - mean) * (x[j] - mean);
    const double scale = 1 / std::sqrt(spread / row_length + double{norm_epsilon});
    for (std::size_t j = 0; j < row_length; ++j)
      check(got[j], (x[j] - mean) * scale * weight[j] + bias[j], 5e-6, "C3 layer norm",
            i * row_length + j);
  }
}

/// x times w a hundred times; both 16 x 16.
inline void check_products_in_turn(const Floats& x, const Floats& w, const Floats& got) {
  std::vector<double> y(x.begin(), x.end()), next(256);
  for (int turn = 0; turn < 100; ++turn, std::swap(y, next))
    for (std::size_t i = 0; i < 256; ++i) {
      next[i] = 0;
      for (std::size_t k = 0; k < 16; ++k) next[i] += y[i / 16 * 16 + k] * w[k * 16 + i % 16];
    }
  const double top = std::abs(*std::max_element(
      y.begin(), y.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
  for (std::size_t i = 0; i < 256; ++i) check(got[i], y[i], 2e-5 * top, "C4 products", i);
}

inline void check_pointwise_in_turn(const Floats& x, const Floats& got) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    double y = x[i];
    for (int turn = 0; turn < 50; ++turn) y = std::sin(y) + 0.5;
    check(got[i], y, 5e-6, "C4 sin", i);
  }
}

/// A step of 784-256-10 with ReLU, mean cross-entropy and plain SGD, in float64.
struct Mlp {
  std::vector<double> w1, b1, w2, b2;  // w1 [hidden, features], w2 [classes, hidden]

  /// The loss before the step.
  double step(const Floats& x, const std::vector<std::int64_t>& labels) {
    std::vector<double> h(batch * hidden), dh(batch * hidden), d(batch * classes);
    double loss = 0;
    for (std::size_t i = 0; i < batch; ++i) {
      for (std::size_t j = 0; j < hidden; ++j) {
        double sum = b1[j];
        for (std::size_t k = 0; k < features; ++k)
          sum += x[i * features + k] * w1[j * features + k];
        h[i * hidden + j] = std::max(sum, 0.0);
      }
      double* out = &d[i * classes];
      for (std::size_t c = 0; c < classes; ++c) {
        out[c] = b2[c];
        for (std::size_t j = 0; j < hidden; ++j) out[c] += h[i * hidden + j] * w2[c * hidden + j];
      }
      const double top = *std::max_element(out, out + classes);
      double total = 0;
      for (std::size_t c = 0; c < classes; ++c) total += std::exp(out[c] - top);
      const auto label = static_cast<std::size_t>(labels[i]);
      loss += (top + std::log(total) - out[label]) / batch;
      for (std::size_t c = 0; c < classes; ++c)
        out[c] = (std::exp(out[c] - top) / total - (c == label ? 1 : 0)) / batch;
      for (std::size_t j = 0; j < hidden; ++j)
        for (std::size_t c = 0; c < classes && h[i * hidden + j] > 0; ++c)
          dh[i * hidden + j] += out[c] * w2[c * hidden + j];
    }
    descend(x, h, dh, d);
    return loss;
  }

 private:
  void descend(const Floats& x, const std::vector<double>& h, const std::vector<double>& dh,
               const std::vector<double>& d) {
    for (std::size_t i = 0; i < batch; ++i) {
      for (std::size_t c = 0; c < classes; ++c) {
        const double g = double{rate} * d[i * classes + c];
        b2[c] -= g;
        for (std::size_t j = 0; j < hidden; ++j) w2[c * hidden + j] -= g * h[i * hidden + j];
      }
      for (std::size_t j = 0; j < hidden; ++j) {
        const double g = double{rate} * dh[i * hidden + j];
        b1[j] -= g;
        for (std::size_t k = 0; k < features; ++k) w1[j * features + k] -= g * x[i * features + k];
      }
    }
  }
};

}  // namespace bench
