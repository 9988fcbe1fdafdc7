// Kernels on a GPU against what its memory can do: one fused chain (W1) and sums (W2c, W2d) on
// random data, their values checked first. Medians of the time that one call takes in a queue.
//   gpu [--json] [--quick] [--device cpu]     the cpu: small sizes, to try the program
#include <cmath>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>

#include <weft/weft.h>

#include "measure.h"
#include "raw_gpu.h"

namespace {

using namespace weft;
using bench::Row;

struct Extents {
  std::int64_t chain = std::int64_t{512} << 20;
  std::int64_t rows = 32768, columns = 4096;
  int samples = 21;
};

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("wrong value: " + what);
}

class Kernels {
 public:
  Kernels(Device device, const Extents& sizes) : device_(device), sizes_(sizes) {}

  std::vector<Row> run() {
    chain();
    sums();
    return std::move(rows_);
  }

 private:
  double seconds(int calls, const std::function<Tensor()>& record) {
    return bench::seconds_of(
        sizes_.samples, calls,
        [&] {
          const Tensor y = record();
          eval(y);
        },
        [&] { synchronize(device_); });
  }
  void add(const std::string& name, double seconds, double bytes) {
    rows_.push_back({name, "weft", seconds * 1e3, "ms"});
    rows_.push_back({name + " traffic", "weft", bytes / seconds / 1e9, "GB/s"});
  }
  Tensor random(const Shape& shape) {
    const Tensor made = randn(shape, {.device = device_});
    eval(made);
    return made;
  }

  void chain() {
    const Shape shape{sizes_.chain};
    const Tensor x = random(shape), y = random(shape), z = random(shape);
    const auto work = [&] { return tanh(relu(x * y + z)) * y - z; };
    check_chain(x, y, z, work());
    const auto n = static_cast<double>(sizes_.chain);
    add("W1", seconds(10, work), 16 * n);
    add("stream, 3 in and 1 out", seconds(10, [&] { return x + y + z; }), 16 * n);
    add("copy, negated", seconds(10, [&] { return -x; }), 8 * n);
  }

  /// Windows of 1000 elements all over, against double.
  void check_chain(const Tensor& x, const Tensor& y, const Tensor& z, const Tensor& result) {
    constexpr std::int64_t window = 1000, windows = 40;
    eval(result);
    const std::int64_t n = sizes_.chain;
    for (std::int64_t k = 0; k < windows; ++k) {
      const std::int64_t from = (n - window) * k / (windows - 1);
      const auto part = [&](const Tensor& t) {
        return slice(t, 0, from, from + window).cpu().to_vector<float>();
      };
      const auto a = part(x), b = part(y), c = part(z), got = part(result);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double wanted =
            std::tanh(std::max(double{a[i]} * b[i] + c[i], 0.0)) * b[i] - double{c[i]};
        require(std::abs(got[i] - wanted) <= 2e-6 * (1 + std::abs(wanted)),
                "W1 at " + std::to_string(from + static_cast<std::int64_t>(i)));
      }
    }
  }

  void sums() {
    const Tensor x = random({sizes_.rows, sizes_.columns});
    check_sums(x);
    const double bytes = 4.0 * static_cast<double>(sizes_.rows * sizes_.columns);
    add("W2c", seconds(40, [&] { return sum(x); }), bytes);
    add("W2d", seconds(40, [&] { return sum(x, 0); }), bytes);
  }

  void check_sums(const Tensor& x) {
    const std::vector<float> values = x.cpu().to_vector<float>();
    const auto columns = static_cast<std::size_t>(sizes_.columns);
    std::vector<double> wanted(columns), magnitude(columns);
    double total = 0, total_magnitude = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      wanted[i % columns] += values[i];
      magnitude[i % columns] += std::abs(values[i]);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      total += wanted[c];
      total_magnitude += magnitude[c];
    }
    const auto got = sum(x, 0).cpu().to_vector<float>();
    for (std::size_t c = 0; c < columns; ++c)
      require(std::abs(got[c] - wanted[c]) <= 1e-6 * magnitude[c],
              "W2d, column " + std::to_string(c));
    const float all = sum(x).item<float>();
    require(std::abs(all - total) <= 1e-6 * total_magnitude, "W2c");
    for (int i = 0; i < 5; ++i) {
      require(sum(x).item<float>() == all, "W2c is another one in another run");
      require(sum(x, 0).cpu().to_vector<float>() == got, "W2d is another one in another run");
    }
  }

  Device device_;
  Extents sizes_;
  std::vector<Row> rows_;
};

void add_ceilings(std::vector<Row>& rows, const Extents& sizes) {
  bench::RawGpu gpu(cuda::properties(0).compute_capability);
  const std::size_t bytes = 4 * static_cast<std::size_t>(sizes.chain), vectors = bytes / 16;
  const auto a = gpu.allocate(bytes), b = gpu.allocate(bytes), c = gpu.allocate(bytes),
             out = gpu.allocate(bytes);
  const auto add = [&](const char* name, const char* who, double moved, double seconds) {
    rows.push_back({name, who, moved / seconds / 1e9, "GB/s"});
  };
  const auto each = static_cast<double>(bytes);
  add("copy", "raw kernel", 2 * each, gpu.seconds(sizes.samples, 10, [&] {
    gpu.launch("copy", {a, out}, vectors);
  }));
  add("copy", "cuMemcpyDtoD", 2 * each,
      gpu.seconds(sizes.samples, 10, [&] { gpu.copy(out, a, bytes); }));
  add("stream", "raw kernel", 4 * each, gpu.seconds(sizes.samples, 10, [&] {
    gpu.launch("stream", {a, b, c, out}, vectors);
  }));
  const auto read_bytes = static_cast<std::size_t>(4 * sizes.rows * sizes.columns);
  double best = 1e9;
  const auto processors = static_cast<unsigned>(cuda::properties(0).multiprocessors);
  for (const unsigned waves : {4u, 8u, 16u, 32u})
    best = std::min(best, gpu.seconds(sizes.samples, 40, [&] {
      gpu.launch("read", {a, out}, read_bytes / 16, processors * waves);
    }));
  add("read", "raw kernel", static_cast<double>(read_bytes), best);
  for (const auto address : {a, b, c, out}) gpu.free(address);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::options_of(argc, argv);
  try {
    Extents sizes;
    const Device device = options.device == "cpu" ? Device::cpu() : Device::cuda(0);
    if (device.is_cuda() && !cuda::is_available()) {
      std::fputs("gpu: passed over: no GPU\n", stderr);
      return 0;
    }
    if (!device.is_cuda()) sizes = {1 << 16, 64, 256, 3};
    if (options.quick) sizes.samples = 5;
    manual_seed(1);
    std::vector<Row> rows = Kernels(device, sizes).run();
    empty_cache(device);
    if (device.is_cuda()) add_ceilings(rows, sizes);
    bench::print(rows, options.json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu: %s\n", error.what());
    return 1;
  }
}
