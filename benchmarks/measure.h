// What the benchmarks share: medians, and rows printed as a table or as JSON.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Median over `samples` of the seconds that one call takes, in batches of `calls` that are waited
/// for at their end. Two batches before count for nothing.
inline double seconds_of(int samples, int calls, const std::function<void()>& call,
                         const std::function<void()>& wait) {
  std::vector<double> values;
  for (int i = -2; i < samples; ++i) {
    wait();
    const auto start = Clock::now();
    for (int k = 0; k < calls; ++k) call();
    wait();
    if (i >= 0) values.push_back(seconds_since(start) / calls);
  }
  return median(std::move(values));
}

/// A figure; benchmarks/compare.py joins those of one name.
struct Row {
  std::string name;  // "W1"
  std::string who;   // "weft", "raw kernel"
  double value;
  std::string unit;
};

struct Options {
  bool json = false, quick = false;
  std::string device = "cuda:0";
};

/// --json, --quick, --device cpu; others are passed over.
inline Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    options.json = options.json || std::strcmp(argv[i], "--json") == 0;
    options.quick = options.quick || std::strcmp(argv[i], "--quick") == 0;
    if (std::strcmp(argv[i], "--device") == 0 && i + 1 < argc) options.device = argv[++i];
  }
  return options;
}

inline void print(const std::vector<Row>& rows, bool json) {
  if (!json) {
    for (const Row& row : rows)
      std::printf("%-48s %-12s %12.4g %s\n", row.name.c_str(), row.who.c_str(), row.value,
                  row.unit.c_str());
    return;
  }
  std::puts("[");
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::printf("  {\"name\": \"%s\", \"who\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}%s\n",
                rows[i].name.c_str(), rows[i].who.c_str(), rows[i].value, rows[i].unit.c_str(),
                i + 1 < rows.size() ? "," : "");
  std::puts("]");
}

}  // namespace bench
