// The CPU rows written by hand with Eigen, without weft: what compiled code reaches here. Then what
// the machine can do: a stream of five arrays into one, a copy of the rows' matrix, fused
// multiply-adds; and OpenBLAS, where its shared library is found. Checked against float64 first.
//   cpu_eigen [--json] [--quick] [--threads N]
// Compiled for this machine (the flags are printed): it need not run elsewhere.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>
#if defined(__AVX__)
#include <immintrin.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "cpu_work.h"
#include "measure.h"

namespace {

using bench::Floats;
using bench::Row;
using Array = Eigen::Map<Eigen::ArrayXf, Eigen::Aligned64>;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<Matrix, Eigen::Aligned64>;

/// Floats on large pages, written once: no page fault is timed.
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    constexpr std::size_t page = std::size_t{1} << 21;
    const std::size_t bytes = (count * sizeof(float) + page - 1) / page * page;
    data_.reset(static_cast<float*>(std::aligned_alloc(page, bytes)));
    if (!data_) throw std::bad_alloc();
    madvise(data_.get(), bytes, MADV_HUGEPAGE);
    std::memset(data_.get(), 0, bytes);
  }
  explicit Buffer(const Floats& values) : Buffer(values.size()) {
    std::memcpy(data(), values.data(), values.size() * sizeof(float));
  }
  float* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return count_; }
  Array array(std::size_t from, std::size_t count) const {
    return {data() + from, static_cast<Eigen::Index>(count)};
  }

 private:
  struct Free {
    void operator()(float* data) const noexcept { std::free(data); }
  };
  std::unique_ptr<float, Free> data_;
  std::size_t count_;
};

/// body(from, count) for an equal part on each thread; parts start on a cache line.
template <class F>
void in_parts(int threads, std::size_t count, std::size_t unit, const F& body) {
  const auto parts = static_cast<std::size_t>(threads);
  if (parts == 1) return body(std::size_t{0}, count);
#if defined(_OPENMP)
#pragma omp parallel for schedule(static) num_threads(threads)
#endif
  for (std::size_t p = 0; p < parts; ++p) {
    const std::size_t units = count / unit;
    const std::size_t from = units * p / parts * unit, to = units * (p + 1) / parts * unit;
    body(from, to - from);
  }
}

#if defined(__AVX512F__)
constexpr std::size_t lanes = 16;
#else
constexpr std::size_t lanes = 8;
#endif
using Lanes [[gnu::vector_size(lanes * sizeof(float)), gnu::may_alias]] = float;

void store_past_caches(float* to, Lanes value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, reinterpret_cast<__m512>(value));
#elif defined(__AVX__)
  _mm256_stream_ps(to, reinterpret_cast<__m256>(value));
#else
  std::memcpy(to, &value, sizeof value);
#endif
}

void fence() {
#if defined(__AVX__)
  _mm_sfence();
#endif
}

class Rows {
 public:
  Rows(int samples, int threads) : samples_(samples), threads_(threads) {}

  std::vector<Row> run() {
    chain("C1 16M", bench::chain_large, 1);
    chain("C1 16K", bench::chain_small, 200);
    open_blas();
    for (const bench::ProductSize& size : bench::product_sizes) product(size);
    softmax_of_rows();
    layer_norm_of_rows();
    multiply_adds();
    return std::move(rows_);
  }

 private:
  double add(const std::string& name, const char* who, int calls,
             const std::function<void()>& call) {
    const double seconds = bench::seconds_of(samples_, calls, call, [] {});
    rows_.push_back({name, who, seconds * 1e3, "ms"});
    return seconds;
  }

  void chain(const char* name, std::size_t count, int calls) {
    std::vector<Buffer> in;
    for (unsigned i = 0; i < 5; ++i) in.emplace_back(bench::drawn(count, i));
    const Buffer out(count);
    // One thread where the parts would be too short to be worth a second.
    const int threads = count < 100'000 ? 1 : threads_;
    const auto work = [&] {
      in_parts(threads, count, 16, [&](std::size_t from, std::size_t n) {
        const auto x = [&](std::size_t i) { return in[i].array(from, n); };
        out.array(from, n) = (x(0) * x(1) + x(2)).max(0.0f) * x(3).tanh() - x(4);
      });
    };
    work();
    bench::check_chain(in[0].data(), in[1].data(), in[2].data(), in[3].data(), in[4].data(),
                       out.data(), count);
    add(name, "Eigen by hand", calls, work);
    const auto stream = [&] {
      in_parts(threads, count, 16, [&](std::size_t from, std::size_t n) {
        const float *a = in[0].data(), *b = in[1].data(), *c = in[2].data(), *d = in[3].data(),
                    *e = in[4].data();
        const auto at = [](const float* x, std::size_t i) {
          return *reinterpret_cast<const Lanes*>(x + i);
        };
        const bool large = count > 1'000'000;
        for (std::size_t i = from; i < from + n; i += lanes) {
          const Lanes sum = at(a, i) + at(b, i) + at(c, i) + at(d, i) + at(e, i);
          if (large)
            store_past_caches(out.data() + i, sum);
          else
            *reinterpret_cast<Lanes*>(out.data() + i) = sum;
        }
        fence();
      });
    };
    stream();
    for (std::size_t i = 0; i < count; i += 997) {
      double wanted = 0;
      for (const Buffer& x : in) wanted += x.data()[i];
      bench::check(out.data()[i], wanted, 1e-5, "stream", i);
    }
    add(name, "floor: 5 in, 1 out", calls, stream);
  }

  // ---- products

  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                         float, float*, int);

  void open_blas() {
    void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fputs("cpu_eigen: OpenBLAS passed over: no libopenblas.so.0 (libopenblas0-pthread)\n",
                 stderr);
      return;
    }
    const auto find = [&](const char* name) { return dlsym(library, name); };
    sgemm_ = reinterpret_cast<Sgemm>(find("cblas_sgemm"));
    if (const auto limit = reinterpret_cast<void (*)(int)>(find("openblas_set_num_threads")))
      limit(threads_);
    if (const auto config = reinterpret_cast<const char* (*)()>(find("openblas_get_config")))
      std::fprintf(stderr, "cpu_eigen: %s\n", config());
  }

  void product(const bench::ProductSize& size) {
    const Buffer left(bench::drawn(size.m * size.k, 1)), right(bench::drawn(size.k * size.n, 2)),
        result(size.m * size.n);
    const auto map = [](const Buffer& x, std::size_t rows, std::size_t columns) {
      return MatrixMap(x.data(), static_cast<Eigen::Index>(rows),
                       static_cast<Eigen::Index>(columns));
    };
    const MatrixMap a = map(left, size.m, size.k), b = map(right, size.k, size.n);
    MatrixMap c = map(result, size.m, size.n);
    const int calls = size.flops() < 1e8 ? 20 : 1;
    const auto by_eigen = [&] { c.noalias() = a * b; };
    by_eigen();
    bench::check_product(left.data(), right.data(), result.data(), size);
    add(size.name(), "Eigen by hand", calls, by_eigen);
    if (!sgemm_) return;
    const int m = static_cast<int>(size.m), k = static_cast<int>(size.k),
              n = static_cast<int>(size.n);
    const auto by_blas = [&] {
      constexpr int row_major = 101, as_is = 111;
      sgemm_(row_major, as_is, as_is, m, n, k, 1, left.data(), k, right.data(), n, 0, result.data(),
             n);
    };
    std::memset(result.data(), 0, result.size() * sizeof(float));
    by_blas();
    bench::check_product(left.data(), right.data(), result.data(), size);
    add(size.name(), "OpenBLAS", calls, by_blas);
  }

  // ---- rows

  void softmax_of_rows() {
    const Buffer x(bench::drawn(bench::row_count * bench::row_length, 1)), y(x.size());
    const auto work = [&] {
      in_parts(threads_, bench::row_count, 1, [&](std::size_t from, std::size_t rows) {
        for (std::size_t i = from; i < from + rows; ++i) {
          const Array in = x.array(i * bench::row_length, bench::row_length);
          Array out = y.array(i * bench::row_length, bench::row_length);
          out = (in - in.maxCoeff()).exp();
          out *= 1 / out.sum();
        }
      });
    };
    work();
    bench::check_softmax(x.data(), y.data());
    add("C3 softmax", "Eigen by hand", 4, work);
    add("C3 softmax", "floor: copy", 4, [&] { copy(x, y); });
  }

  void layer_norm_of_rows() {
    const Buffer x(bench::drawn(bench::row_count * bench::row_length, 1)), y(x.size()),
        w(bench::drawn(bench::row_length, 2)), b(bench::drawn(bench::row_length, 3));
    const Array weight = w.array(0, bench::row_length), bias = b.array(0, bench::row_length);
    const auto work = [&] {
      in_parts(threads_, bench::row_count, 1, [&](std::size_t from, std::size_t rows) {
        for (std::size_t i = from; i < from + rows; ++i) {
          const Array in = x.array(i * bench::row_length, bench::row_length);
          const float mean = in.mean();
          const float scale = 1 / std::sqrt((in - mean).square().mean() + bench::norm_epsilon);
          y.array(i * bench::row_length, bench::row_length) = (in - mean) * scale * weight + bias;
        }
      });
    };
    work();
    bench::check_layer_norm(x.data(), w.data(), b.data(), y.data());
    add("C3 layer norm", "Eigen by hand", 4, work);
    add("C3 layer norm", "floor: copy", 4, [&] { copy(x, y); });
  }

  void copy(const Buffer& from, const Buffer& to) {
    in_parts(threads_, from.size(), 16, [&](std::size_t begin, std::size_t n) {
      std::memcpy(to.data() + begin, from.data() + begin, n * sizeof(float));
    });
  }

  // ---- the processor

  /// Ten chains, enough to hide an addition's latency, in registers.
  static float multiply_adds_of_a_thread(std::size_t turns) {
    const Lanes x = Lanes{} + 0.999f, y = Lanes{} + 1e-3f;
    Lanes a = y, b = a + y, c = b + y, d = c + y, e = d + y;  // all different, so all computed
    Lanes f = e + y, g = f + y, h = g + y, i = h + y, j = i + y;
    for (std::size_t t = 0; t < turns; ++t) {
      a = a * x + y, b = b * x + y, c = c * x + y, d = d * x + y, e = e * x + y;
      f = f * x + y, g = g * x + y, h = h * x + y, i = i * x + y, j = j * x + y;
    }
    return (a + b + c + d + e + f + g + h + i + j)[0];
  }

  void multiply_adds() {
    constexpr std::size_t turns = 1'000'000;
    std::vector<float> results(static_cast<std::size_t>(threads_) * 16);
    const double seconds = bench::seconds_of(
        samples_, 1,
        [&] {
          in_parts(threads_, static_cast<std::size_t>(threads_), 1,
                   [&](std::size_t from, std::size_t) {
                     results[from * 16] = multiply_adds_of_a_thread(turns);
                   });
        },
        [] {});
    const double flops = 2.0 * 10 * lanes * turns * threads_;
    rows_.push_back({"multiply-adds", "peak", 1e-9 * flops / seconds, "GFLOP/s"});
  }

  int samples_, threads_;
  Sgemm sgemm_ = nullptr;
  std::vector<Row> rows_;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::options_of(argc, argv);
  int threads = 1;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--threads") == 0) threads = std::max(1, std::atoi(argv[i + 1]));
#if defined(_OPENMP)
  omp_set_num_threads(threads);
  Eigen::setNbThreads(threads);
#else
  if (threads > 1) {
    std::fputs("cpu_eigen: passed over: built without OpenMP, so for one thread\n", stderr);
    std::puts("[]");
    return 0;
  }
#endif
  std::fprintf(stderr, "cpu_eigen: Eigen %d.%d.%d, g++ %s, %s, %s\n", EIGEN_WORLD_VERSION,
               EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION, __VERSION__, WEFT_BENCH_FLAGS,
               Eigen::SimdInstructionSetsInUse());
  try {
    bench::print(Rows(options.quick ? 5 : 21, threads).run(), options.json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cpu_eigen: %s\n", error.what());
    return 1;
  }
}
