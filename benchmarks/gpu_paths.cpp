// What stands around kernels on a GPU: the first use of a new one, copies to and from the host,
// recording and plans from the cache, a small training step. Medians. Kernels are kept in a new
// folder, which goes at the end, so that each is compiled.
//   gpu_paths [--json] [--quick] [--device cpu]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>

#include <weft/weft.h>

#include "measure.h"
#include "raw_gpu.h"

namespace {

using namespace weft;
using bench::Clock;
using bench::Row;

/// A folder for this process's kernels.
class FreshKernels {
 public:
  FreshKernels() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-bench-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no folder for kernels: " + name);
    folder_ = name;
    ::setenv("WEFT_CACHE_DIR", name.c_str(), 1);
  }
  FreshKernels(const FreshKernels&) = delete;
  FreshKernels& operator=(const FreshKernels&) = delete;
  ~FreshKernels() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 private:
  std::filesystem::path folder_;
};

class Paths {
 public:
  Paths(Device device, bool quick) : device_(device), samples_(quick ? 5 : 21) {}

  std::vector<Row> run(bool raw) {
    first_uses();
    host_costs();
    training();
    copies(raw);
    return std::move(rows_);
  }

 private:
  void add(const std::string& name, double value, const char* unit, const char* who = "weft") {
    rows_.push_back({name, who, value, unit});
  }

  // ---- the first use of a fused kernel: recorded, planned, compiled, loaded, run, read

  void first_uses() {
    const Tensor x = randn({4096}, {.device = device_}), y = rand({4096}, {.device = device_});
    eval(x, y);
    const auto once = [&](const std::function<Tensor()>& record) {
      synchronize(device_);
      const auto start = Clock::now();
      record().wait();
      return 1e3 * bench::seconds_since(start);
    };
    add("first kernel of a process, NVRTC loaded for it", once([&] { return relu(x * 1.5f); }),
        "ms");
    const std::vector<std::function<Tensor()>> chains{
        [&] { return tanh(relu(x * y + 1.0f)) - y; },
        [&] { return exp(-square(x)) * y; },
        [&] { return where(x > y, sigmoid(x), y) + x; },
        [&] { return log(abs(x) + 1.0f) / (y + 2.0f); },
        [&] { return sin(x) * cos(y) + x * x; },
        [&] { return sqrt(square(x) + square(y)) - maximum(x, y); },
        [&] { return x.to(f16) * y.to(f16); },
        [&] { return relu(x) - relu(-y) * 0.25f; },
    };
    std::vector<double> took;
    for (const auto& chain : chains) took.push_back(once(chain));
    add("first use of a fused kernel, median of 8", bench::median(took), "ms");
    add("first use of a fused kernel, slowest of 8", *std::max_element(took.begin(), took.end()),
        "ms");
    took.clear();
    for (const auto& chain : chains) took.push_back(once(chain));
    add("the same kernels again", bench::median(took), "ms");
  }

  // ---- the calling thread's time, the values being on the device

  void host_costs() {
    const Tensor start = ones({4}, {.device = device_});
    eval(start);
    std::vector<double> took;
    for (int i = 0; i < 5 * samples_; ++i) {
      const auto begin = Clock::now();
      {
        Tensor x = start;
        for (int k = 0; k < 1000; ++k) x = x + start;
      }
      took.push_back(1e6 * bench::seconds_since(begin));  // of 1000 nodes: ns a node
    }
    add("record an op of two operands", bench::median(took), "ns/node");
    for (const int nodes : {1, 10, 100}) {
      took.clear();
      for (int i = -2; i < 5 * samples_; ++i) {
        Tensor x = start;
        for (int k = 0; k < nodes; ++k) x = x + start;
        const auto begin = Clock::now();
        eval(x);
        if (i >= 0) took.push_back(1e6 * bench::seconds_since(begin));
        x.wait();
      }
      add("start a known plan, " + std::to_string(nodes) + " nodes", bench::median(took), "us");
    }
    const double wait = bench::seconds_of(
        samples_, 20, [&] { (start + start).wait(); }, [&] { synchronize(device_); });
    add("a small kernel, waited for", 1e6 * wait, "us");
  }

  // ---- W3a: 784-256-10, batch 256, SGD

  void training() {
    nn::Sequential net{nn::Linear(784, 256), nn::ReLU(), nn::Linear(256, 10)};
    net.to(device_);
    optim::SGD optimizer(net.parameters(), {.lr = 0.01});
    const Tensor images = randn({256, 784}, {.device = device_});
    const Tensor labels = randint(0, 10, {256}, {.device = device_});
    eval(images, labels);
    const auto loss_of = [&] { return cross_entropy(net(images), labels); };
    const auto step = [&] {
      optimizer.zero_grad();
      loss_of().backward();
      optimizer.step();
    };
    const auto start = Clock::now();
    step();
    const double before = loss_of().item<double>();
    add("W7, first step, compilation included", 1e3 * bench::seconds_since(start), "ms");
    const double each = bench::seconds_of(samples_, 50, step, [&] { synchronize(device_); });
    if (!(loss_of().item<double>() < before)) throw std::runtime_error("training does not train");
    add("W3a", 1e3 * each, "ms");
  }

  // ---- copies

  void copies(bool raw) {
    for (const std::int64_t mib : {64, 256, 1024}) {
      const std::int64_t count = (raw ? mib : mib / 64) << 18;  // floats
      const std::string size = ", " + std::to_string(mib) + " MiB";
      const double bytes = 4.0 * static_cast<double>(count);
      const Tensor here = randn({count});
      const Tensor there = here.to(device_);
      if (!equal(there.cpu(), here)) throw std::runtime_error("a copy changed values");
      const auto gbs = [&](const std::function<void()>& copy) {
        return bytes / bench::seconds_of(samples_ / 2, 2, copy, [&] { synchronize(device_); }) /
               1e9;
      };
      add("copy to the device" + size, gbs([&] { here.to(device_).wait(); }), "GB/s");
      add("copy to the host" + size, gbs([&] { there.cpu().wait(); }), "GB/s");
    }
    empty_cache(device_);
    if (raw) raw_copies();
  }

  void raw_copies() {
    bench::RawGpu gpu(cuda::properties(0).compute_capability);
    for (const std::size_t mib : {64, 256, 1024}) {
      const std::size_t bytes = mib << 20;
      const auto device = gpu.allocate(bytes);
      void* const host = gpu.allocate_host(bytes);
      const std::string size = ", " + std::to_string(mib) + " MiB";
      const auto gbs = [&](const std::function<void()>& copy) {
        return static_cast<double>(bytes) / gpu.seconds(samples_ / 2, 2, copy) / 1e9;
      };
      add("copy to the device" + size, gbs([&] { gpu.copy_in(device, host, bytes); }), "GB/s",
          "raw pinned");
      add("copy to the host" + size, gbs([&] { gpu.copy_out(host, device, bytes); }), "GB/s",
          "raw pinned");
      gpu.free_host(host);
      gpu.free(device);
    }
  }

  Device device_;
  int samples_;
  std::vector<Row> rows_;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::options_of(argc, argv);
  try {
    const FreshKernels kernels;
    const Device device = options.device == "cpu" ? Device::cpu() : Device::cuda(0);
    if (device.is_cuda() && !cuda::is_available()) {
      std::fputs("gpu_paths: passed over: no GPU\n", stderr);
      return 0;
    }
    manual_seed(1);
    bench::print(Paths(device, options.quick).run(device.is_cuda()), options.json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_paths: %s\n", error.what());
    return 1;
  }
}
