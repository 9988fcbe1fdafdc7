// Scans on the cpu: the one pattern written out again, for every layout and number of threads.
#include <cmath>
#include <vector>

#include "cpu/pool.h"
#include "runtime/cpu_steps.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::detail;
using namespace weft::testing;

namespace {

/// The pattern: lanes of 16, 32 lanes by doubling, chunks of 512, their ends by the same pattern.
std::vector<float> pattern(const std::vector<float>& x) {
  std::vector<float> out(x.size()), ends;
  for (std::size_t first = 0; first < x.size(); first += 512) {
    const std::size_t n = std::min<std::size_t>(512, x.size() - first);
    std::vector<float> lanes((n + 15) / 16);
    for (std::size_t i = 0; i < n; ++i) {
      out[first + i] = i % 16 == 0 ? x[first + i] : out[first + i - 1] + x[first + i];
      lanes[i / 16] = out[first + i];
    }
    for (std::size_t h = 1; h < lanes.size(); h *= 2) {
      const std::vector<float> before = lanes;
      for (std::size_t l = h; l < lanes.size(); ++l) lanes[l] = before[l - h] + before[l];
    }
    for (std::size_t i = 16; i < n; ++i) out[first + i] = lanes[i / 16 - 1] + out[first + i];
    ends.push_back(out[first + n - 1]);
  }
  if (ends.size() < 2) return out;
  ends.pop_back();
  ends = pattern(ends);
  for (std::size_t i = 512; i < out.size(); ++i) out[i] = ends[i / 512 - 1] + out[i];
  return out;
}

float number(std::int64_t i) { return std::sin(static_cast<float>(i) * 1.7f) * 3; }

/// Lines of [outer, n, inner] along the middle.
void check(std::int64_t outer, std::int64_t n, std::int64_t inner) {
  const Array x(DType::f32, {outer, n, inner}, [](auto i) { return double(number(i)); });
  Array out(DType::f32, {outer, n, inner});
  TestStep step(OpId::cumsum, {1});
  step.inputs = {x.dense()};
  step.outputs = {out.dense()};
  step.run();
  for (std::int64_t line = 0; line < outer * inner; ++line) {
    const std::int64_t base = line / inner * n * inner + line % inner;
    std::vector<float> values;
    for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(x[base + i * inner]));
    const std::vector<float> want = pattern(values);
    for (std::int64_t i = 0; i < n; ++i)
      REQUIRE(static_cast<float>(out[base + i * inner]) == want[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

TEST_CASE("cpu scans: the one pattern, with any number of threads") {
  for (const int threads : {1, 2, 0}) {
    limit_threads(threads);
    for (const std::int64_t inner : {1, 3, 9, 70})
      for (const std::int64_t n : {1, 16, 17, 513, 2000}) check(2, n, inner);
    check(1, 512 * 513 + 5, 1);
    check(40, 3000, 1);
    check(3, 600, 100);
  }
  limit_threads(0);
}

TEST_CASE("cpu scans: views whose inner axes do not join") {
  const Array x(DType::f32, {4, 5, 6, 7}, [](auto i) { return double(number(i)); });
  Array out(DType::f32, {6, 5, 4, 7});
  TestStep step(OpId::cumsum, {1});
  step.inputs = {x.view({6, 5, 4, 7}, {7, 42, 210, 1})};
  step.outputs = {out.dense()};
  step.run();
  for (std::int64_t a = 0; a < 6; ++a)
    for (std::int64_t b = 0; b < 4; ++b)
      for (std::int64_t c = 0; c < 7; ++c) {
        float sum = 0;
        for (std::int64_t k = 0; k < 5; ++k) {
          sum += static_cast<float>(x[a * 7 + k * 42 + b * 210 + c]);
          REQUIRE(static_cast<float>(out[((a * 5 + k) * 4 + b) * 7 + c]) == sum);
        }
      }
}

TEST_CASE("cpu scans: extremes of long lines and of columns") {
  for (const std::int64_t inner : {1, 20})
    for (const bool greatest : {false, true}) {
      constexpr std::int64_t n = 3000;
      const Array x(DType::i32, {n, inner}, [](auto i) { return double(i * i % 1013 + i / 37); });
      Array values(DType::i32, {n, inner}), places(DType::i64, {n, inner});
      TestStep step(greatest ? OpId::cummax : OpId::cummin, {0});
      step.inputs = {x.dense()};
      step.outputs = {values.dense(), places.dense()};
      step.run();
      for (std::int64_t j = 0; j < inner; ++j) {
        double best = x[j], place = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const double next = x[i * inner + j];
          if (greatest ? next >= best : next <= best) best = next, place = double(i);
          REQUIRE(values[i * inner + j] == best);
          REQUIRE(places[i * inner + j] == place);
        }
      }
    }
}

TEST_CASE("cpu sorting: long lines, by digits, are in a stable order") {
  for (const DType dtype : {DType::f16, DType::f32, DType::f64, DType::i8, DType::i64, DType::bool_})
    for (const std::int64_t n : {255, 256, 3000, 20000})
      for (const std::int64_t descending : {0, 1}) {
        const Array x(dtype, {2, n}, [&](auto i) {
          if (is_floating(dtype) && i % 97 == 5) return double(NAN);
          return as_element(dtype, double(i * 7919 % 1009 - (is_floating(dtype) ? 500 : 0)));
        });
        Array values(dtype, {2, n}), indices(DType::i64, {2, n});
        TestStep step(OpId::sort, {n, 1, descending});
        step.inputs = {x.dense()};
        step.outputs = {values.dense(), indices.dense()};
        step.run();
        const auto is_before = [](double a, double b) {
          return !std::isnan(a) && (std::isnan(b) || a < b);
        };
        for (std::int64_t i = 0; i < 2 * n; ++i) {
          const std::int64_t line = i / n * n, at = static_cast<std::int64_t>(indices[i]);
          REQUIRE((values[i] == x[line + at] || std::isnan(x[line + at])));
          if (i % n == 0) continue;
          const double a = values[i - 1], b = values[i];
          REQUIRE_FALSE((descending ? is_before(a, b) : is_before(b, a)));
          const bool are_equal = !is_before(a, b) && !is_before(b, a);
          REQUIRE((!are_equal || indices[i - 1] < indices[i]));
        }
      }
}
