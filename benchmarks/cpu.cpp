// The CPU: a fused chain (C1), products (C2), rows (C3), tiny ops and a training step (C4), on
// random data, values checked against float64 first. Medians, warm, waited for.
//   cpu [--json] [--quick]         WEFT_NUM_THREADS: how many threads
// benchmarks/compare_cpu puts them beside the same work by hand and by other libraries.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <weft/weft.h>

#include "cpu_work.h"
#include "measure.h"

namespace {

using namespace weft;
using bench::Floats;
using bench::Row;

Tensor there(const Floats& values, const Shape& shape) {
  const Tensor x = from_vector(values, shape);
  x.wait();
  return x;
}

class Rows {
 public:
  explicit Rows(int samples) : samples_(samples) {}

  std::vector<Row> run() {
    chain("C1 16M", bench::chain_large, 1);
    chain("C1 16K", bench::chain_small, 200);
    for (const bench::ProductSize& size : bench::product_sizes) product(size);
    softmax_of_rows();
    layer_norm_of_rows();
    products_in_turn();
    pointwise_in_turn();
    train();
    return std::move(rows_);
  }

 private:
  /// `calls` in a queue, waited for at their end.
  void add(const std::string& name, int calls, const std::function<Tensor()>& record) {
    const double seconds = bench::seconds_of(
        samples_, calls, [&] { eval(record()); }, [] { synchronize({}); });
    rows_.push_back({name, "weft", seconds * 1e3, "ms"});
  }

  void chain(const char* name, std::size_t count, int calls) {
    std::vector<Floats> data;
    std::vector<Tensor> in;
    for (unsigned i = 0; i < 5; ++i) {
      data.push_back(bench::drawn(count, i));
      in.push_back(there(data.back(), {static_cast<std::int64_t>(count)}));
    }
    const auto work = [&] { return relu(in[0] * in[1] + in[2]) * tanh(in[3]) - in[4]; };
    bench::check_chain(data[0].data(), data[1].data(), data[2].data(), data[3].data(),
                       data[4].data(), work().to_vector<float>().data(), count);
    data.clear();
    add(name, calls, work);
  }

  void product(const bench::ProductSize& size) {
    const Floats left = bench::drawn(size.m * size.k, 1), right = bench::drawn(size.k * size.n, 2);
    const auto extent = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    const Tensor a = there(left, {extent(size.m), extent(size.k)}),
                 b = there(right, {extent(size.k), extent(size.n)});
    bench::check_product(left.data(), right.data(), matmul(a, b).to_vector<float>().data(), size);
    add(size.name(), size.flops() < 1e8 ? 20 : 1, [&] { return matmul(a, b); });
  }

  void softmax_of_rows() {
    const Floats data = bench::drawn(bench::row_count * bench::row_length, 1);
    const Tensor x = there(data, {bench::row_count, bench::row_length});
    bench::check_softmax(data.data(), softmax(x, 1).to_vector<float>().data());
    add("C3 softmax", 4, [&] { return softmax(x, 1); });
  }

  void layer_norm_of_rows() {
    const Floats data = bench::drawn(bench::row_count * bench::row_length, 1),
                 weights = bench::drawn(bench::row_length, 2),
                 biases = bench::drawn(bench::row_length, 3);
    const Tensor x = there(data, {bench::row_count, bench::row_length}),
                 weight = there(weights, {bench::row_length}),
                 bias = there(biases, {bench::row_length});
    const auto work = [&] {
      const Tensor centred = x - mean(x, 1, true);
      return centred * rsqrt(mean(square(centred), 1, true) + bench::norm_epsilon) * weight + bias;
    };
    bench::check_layer_norm(data.data(), weights.data(), biases.data(),
                            work().to_vector<float>().data());
    add("C3 layer norm", 4, work);
  }

  /// 100 small products, each of the one before: nothing to fuse.
  void products_in_turn() {
    const Floats start = bench::drawn(256, 1), factor = bench::drawn(256, 2, -0.4f, 0.4f);
    const Tensor x = there(start, {16, 16}), w = there(factor, {16, 16});
    const auto work = [&] {
      Tensor y = x;
      for (int i = 0; i < 100; ++i) y = matmul(y, w);
      return y;
    };
    bench::check_products_in_turn(start, factor, work().to_vector<float>());
    add("C4 100 products of 16x16", 10, work);
  }

  void pointwise_in_turn() {
    const Floats start = bench::drawn(1024, 1);
    const Tensor x = there(start, {1024});
    const auto work = [&] {
      Tensor y = x;
      for (int i = 0; i < 50; ++i) y = sin(y) + 0.5f;
      return y;
    };
    bench::check_pointwise_in_turn(start, work().to_vector<float>());
    add("C4 50 x (sin, + 0.5) of 1024", 10, work);
  }

  void train();

  int samples_;
  std::vector<Row> rows_;
};

struct Net : nn::Module {
  nn::Linear hidden{bench::features, bench::hidden}, out{bench::hidden, bench::classes};
  Net() {
    register_module("hidden", hidden);
    register_module("out", out);
  }
  Tensor forward(const Tensor& x) const override { return out(relu(hidden(x))); }
};

std::vector<double> doubles(const Variable& x) { return x.to_vector<double>(); }

void check_all(const Variable& got, const std::vector<double>& wanted, const char* what) {
  const std::vector<double> values = doubles(got);
  for (std::size_t i = 0; i < values.size(); ++i)
    bench::check(values[i], wanted[i], 2e-6, std::string("W3a, ") + what, i);
}

void Rows::train() {
  const Floats images = bench::drawn(bench::batch * bench::features, 1, 0, 1);
  std::vector<std::int64_t> digits(bench::batch);
  for (std::size_t i = 0; i < digits.size(); ++i)
    digits[i] = static_cast<std::int64_t>(i * 7 % bench::classes);
  const Tensor x = there(images, {bench::batch, bench::features}), labels = from_vector(digits);
  Net net;
  eval(net.parameters());
  bench::Mlp wanted{doubles(net.hidden.weight), doubles(net.hidden.bias), doubles(net.out.weight),
                    doubles(net.out.bias)};
  optim::SGD optimizer(net.parameters(), {.lr = bench::rate});
  Tensor loss;
  const auto step = [&] {
    loss = cross_entropy(net(x), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  };
  for (int i = 0; i < 3; ++i) {
    const double expected = wanted.step(images, digits);
    step();
    bench::check(loss.item<float>(), expected, 2e-6 * (1 + expected), "W3a, loss", 0);
  }
  check_all(net.hidden.weight, wanted.w1, "hidden.weight");
  check_all(net.hidden.bias, wanted.b1, "hidden.bias");
  check_all(net.out.weight, wanted.w2, "out.weight");
  check_all(net.out.bias, wanted.b2, "out.bias");
  const double seconds = bench::seconds_of(samples_, 5, step, [] { synchronize({}); });
  rows_.push_back({"C4 training step 784-256-10", "weft", seconds * 1e3, "ms"});
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::options_of(argc, argv);
  try {
    manual_seed(1);
    bench::print(Rows(options.quick ? 5 : 21).run(), options.json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cpu: %s\n", error.what());
    return 1;
  }
}
