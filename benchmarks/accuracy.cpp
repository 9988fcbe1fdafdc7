// Greatest errors of the scalar functions of codegen/kernels, over every float and many doubles.
// The functions are those of the table of ops whose rows allow an error, and those that have no
// row.
//
//   accuracy [NAME...] [--stride N] [--f64 COUNT] [--pairs COUNT] [--pairs64 COUNT] [--threads N]
//            [--json] [--update FILE]
//
// Without names: all. Every N-th of the 2^32 floats (1: all); COUNTs of 0 leave a sweep out.
// Results are JSON, a line each, or rows of a Markdown table, which --update puts in place of those
// of the same function and dtype in FILE. References: libm in double for floats, in long double for
// doubles and where terms cancel; functions that libm lacks are in tests/support/math_references.h.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "accuracy_functions.h"

namespace {

using namespace accuracy;

// ---- errors

struct Worst {
  double error = 0.5;  // what a correctly rounded result may have
  std::string at = "-";
};

/// In units in the last place of the exact result, which is not the result rounded.
template <class T, class F>
double ulp_error(T got, F want) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  constexpr int digits = std::numeric_limits<T>::digits;
  constexpr int top = std::numeric_limits<T>::max_exponent;
  if (std::isnan(want) || std::isnan(got) || std::isinf(want)) return wrong;
  int exponent = std::numeric_limits<T>::min_exponent;
  if (want != 0) std::frexp(want, &exponent);
  exponent = std::clamp(exponent, std::numeric_limits<T>::min_exponent, top);
  const F value = std::isinf(got) ? std::copysign(std::ldexp(F(1), top), F(got)) : F(got);
  return static_cast<double>(std::fabs(value - want) / std::ldexp(F(1), exponent - digits));
}

template <class T>
std::string hexadecimal(T x) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", static_cast<double>(x));
  return text;
}

constexpr int block = 1024;

/// A block of arguments against the reference F.
template <class T, class F>
void compare(int arity, const T* x, const T* y, const T* got, int n, F (*reference)(F, F),
             double slack, Worst& worst) {
  for (int i = 0; i < n; ++i) {
    const F want = reference(F(x[i]), F(y[i]));
    const T nearest = static_cast<T>(want);
    if (got[i] == nearest || (std::isnan(want) && std::isnan(got[i]))) continue;
    if (std::fabs(F(got[i]) - want) <= slack && (arity > 1 || x[i] < 0)) continue;
    const double error = ulp_error(got[i], want);
    if (error <= worst.error) continue;
    worst.error = error;
    worst.at = hexadecimal(x[i]) + (arity > 1 ? ", " + hexadecimal(y[i]) : "");
  }
}

/// Runs f(index, worst) for every index below count, on all threads. Of equal errors the one of the
/// lowest index is kept.
template <class F>
Worst sweep(std::uint64_t count, int threads, F f) {
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  Worst worst;
  std::uint64_t worst_index = 0;
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      for (std::uint64_t i; (i = next++) < count;) {
        Worst own;
        f(i, own);
        const std::lock_guard lock(mutex);
        if (own.error > worst.error || (own.error == worst.error && i < worst_index)) {
          worst = own;
          worst_index = i;
        }
      }
    });
  for (std::thread& thread : pool) thread.join();
  return worst;
}

// ---- arguments

/// Draws that follow from an index alone.
class Random {
 public:
  explicit Random(std::uint64_t index) : state_(index * 0xd1342543de82ef95u + 2024) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// All bit patterns alike.
  template <class T>
  T any() {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    const auto bits = static_cast<Bits>(next());
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  /// Exponents alike, both signs.
  double wide(double low, double high) {
    const double x =
        std::ldexp(1 + unit(), static_cast<int>(std::floor(low + (high - low) * unit())));
    return next() & 1 ? x : -x;
  }

 private:
  std::uint64_t state_;
};

template <class T>
T argument(Random& random) {
  switch (random.next() % 4) {
    case 0: return random.any<T>();
    case 1: return static_cast<T>(random.wide(-60, 11));
    case 2: return static_cast<T>(random.wide(-6, 5));
    default: return static_cast<T>(1 + random.wide(-53, -1));
  }
}

template <class T>
void pair(const std::string& name, Random& random, T& x, T& y) {
  const std::uint64_t kind = random.next() % 4;
  x = kind == 0 ? random.any<T>() : argument<T>(random);
  y = kind == 1 ? static_cast<T>(x * T(1 + random.wide(-40, 1))) : argument<T>(random);
  if (name == "logaddexp" && kind > 1) y = static_cast<T>(x + random.wide(-20, 6));
  if (name != "pow" || kind == 0) return;
  // Powers that neither overflow nor vanish.
  const double most = sizeof(T) == 8 ? 1080 : 152;
  x = std::fabs(x);
  y = static_cast<T>((2 * random.unit() - 1) * most / std::log2(static_cast<double>(x)));
}

// ---- the program

struct Options {
  std::vector<std::string> names;
  std::uint64_t stride = 1, f64 = 100000000, pairs = 1000000000, pairs64 = 10000000;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bool json = false;
  std::string update, command;
};

struct Result {
  std::string function, dtype, inputs;
  Worst worst;
};

template <class T>
Block<T> block_of(const Function& f) {
  if constexpr (sizeof(T) == 8)
    return f.f64;
  else
    return f.f32;
}

/// `count` arguments, in units of `unit`: fill(i, n, x, y) makes the unit's i-th to (i + n)-th.
template <class T, class Fill>
Worst measure(const Function& f, const Reference& reference, std::uint64_t count, int threads,
              Fill fill) {
  constexpr std::uint64_t unit = block * 256;
  return sweep((count + unit - 1) / unit, threads, [&](std::uint64_t index, Worst& worst) {
    T x[block], y[block], out[block];
    const std::uint64_t end = std::min(count, (index + 1) * unit);
    for (std::uint64_t i = index * unit; i < end; i += block) {
      const int n = static_cast<int>(std::min<std::uint64_t>(block, end - i));
      fill(i, n, x, y);
      block_of<T>(f)(x, y, out, n);
      if constexpr (sizeof(T) == 8)
        compare(f.arity, x, y, out, n, reference.f64, reference.slack, worst);
      else if (reference.wide)
        compare(f.arity, x, y, out, n, reference.f64, reference.slack32, worst);
      else
        compare(f.arity, x, y, out, n, reference.f32, reference.slack32, worst);
    }
  });
}

template <class T>
Worst measure_random(const Function& f, const Reference& reference, std::uint64_t count,
                     int threads) {
  return measure<T>(f, reference, count, threads, [&](std::uint64_t i, int n, T* x, T* y) {
    Random random(i);
    for (int k = 0; k < n; ++k) {
      if (f.arity > 1)
        pair(f.name, random, x[k], y[k]);
      else
        x[k] = y[k] = argument<T>(random);
    }
  });
}

Worst measure_all(const Function& f, const Reference& reference, std::uint64_t stride,
                  int threads) {
  const std::uint64_t count = ((std::uint64_t{1} << 32) + stride - 1) / stride;
  return measure<float>(
      f, reference, count, threads, [&](std::uint64_t i, int n, float* x, float* y) {
        for (int k = 0; k < n; ++k) {
          const auto bits =
              static_cast<std::uint32_t>((i + static_cast<std::uint64_t>(k)) * stride);
          std::memcpy(&x[k], &bits, sizeof bits);
          y[k] = x[k];
        }
      });
}

std::string commit() {
  std::string text;
  if (FILE* pipe = popen("git describe --always --dirty=+ --exclude '*' 2>/dev/null", "r")) {
    char line[80];
    if (std::fgets(line, sizeof line, pipe)) text = line;
    pclose(pipe);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "unknown" : text;
}

std::string rounded(double error) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", error);
  return text;
}

std::string table_key(const std::string& row) {
  const std::size_t first = row.find('|', 1);
  return row.substr(0, row.find('|', first + 1));
}

std::string markdown(const Result& r, const Options& options) {
  return "| " + r.function + " | " + r.dtype + " | " + r.inputs + " | " + rounded(r.worst.error) +
         " | " + r.worst.at + " | `" + options.command + "` | " + commit() + " |";
}

/// Puts the row in place of the one of the same function and dtype.
void update(const std::string& file, const std::string& row) {
  std::vector<std::string> before;
  std::map<std::string, std::string> rows;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| ") && !line.starts_with("| function"))
      rows[table_key(line)] = line;
    else
      before.push_back(line);
  }
  in.close();
  rows[table_key(row)] = row;
  std::ofstream out(file);
  for (const std::string& line : before) out << line << '\n';
  for (const auto& [key, line] : rows) out << line << '\n';
}

void report(const Result& r, const Options& options) {
  if (options.json)
    std::cout << R"({"function": ")" << r.function << R"(", "dtype": ")" << r.dtype
              << R"(", "inputs": ")" << r.inputs << R"(", "ulp": )" << rounded(r.worst.error)
              << R"(, "at": ")" << r.worst.at << R"(", "command": ")" << options.command
              << R"(", "commit": ")" << commit() << "\"}" << std::endl;
  else
    std::cout << markdown(r, options) << std::endl;
  if (!options.update.empty()) update(options.update, markdown(r, options));
}

void run(const Function& f, const Reference& reference, const Options& options) {
  if (f.arity == 1) {
    const std::string which =
        options.stride == 1 ? "all" : "1 of " + std::to_string(options.stride);
    if (options.stride > 0)
      report({f.name, "f32", which, measure_all(f, reference, options.stride, options.threads)},
             options);
  } else if (options.pairs > 0) {
    report({f.name, "f32", std::to_string(options.pairs) + " pairs",
            measure_random<float>(f, reference, options.pairs, options.threads)},
           options);
  }
  const std::uint64_t count = f.arity == 1 ? options.f64 : options.pairs64;
  if (count > 0)
    report({f.name, "f64", std::to_string(count) + (f.arity == 1 ? "" : " pairs"),
            measure_random<double>(f, reference, count, options.threads)},
           options);
}

Options parse(int argc, char** argv) {
  Options options;
  options.command = "accuracy";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json") {
      options.json = true;
      continue;
    }
    if (!word.starts_with("--")) {
      options.names.push_back(word);
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    const std::map<std::string, std::uint64_t*> numbers = {{"--stride", &options.stride},
                                                           {"--f64", &options.f64},
                                                           {"--pairs", &options.pairs},
                                                           {"--pairs64", &options.pairs64}};
    if (word == "--update")
      options.update = value;
    else if (word == "--threads")
      options.threads = std::max(1, std::atoi(value));
    else if (numbers.contains(word))
      *numbers.at(word) = std::strtoull(value, nullptr, 10);
    else
      std::cerr << "accuracy: unknown option " << word << '\n', std::exit(2);
    if (word != "--update" && word != "--threads") options.command += " " + word + " " + value;
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::map<std::string, Reference> known = references();
  bool complete = true;
  for (const Function& f : functions()) {
    if (!options.names.empty() &&
        std::find(options.names.begin(), options.names.end(), f.name) == options.names.end())
      continue;
    const auto reference = known.find(f.name);
    if (reference == known.end()) {
      std::cerr << "accuracy: no reference for " << f.name << '\n';
      complete = false;
      continue;
    }
    run(f, reference->second, options);
  }
  return complete ? 0 : 1;
}
