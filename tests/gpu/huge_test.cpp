// More elements than 31 bits count: copies, sums, broadcasts, joins and gathers, by closed forms of
// whole sums, and by samples read back. Up to 100 GB of a GPU's memory, so it is asked for by name.
#include <algorithm>
#include <cstdlib>

#include <weft/weft.h>

#include "support/catch.h"
#include "support/gpu.h"

using namespace weft;
using namespace weft::testing;

namespace {

using Int = std::int64_t;

/// v[i] = i mod m, which the dtype has exactly.
struct Counting {
  Device device;
  Int n;
  DType dtype;
  Int m;
  Tensor values() const {
    const On scope(device);
    const Tensor made = (arange(n, {.device = device}) % m).to(dtype);
    eval(made);
    return made;
  }
};

/// Sum of i mod m for i below n.
Int sum_of_counting(Int n, Int m) {
  const Int rest = n % m;
  return n / m * (m * (m - 1) / 2) + rest * (rest - 1) / 2;
}

/// Places whose neighbourhood is read: both ends, around 2^31 and 2^32, and between.
std::vector<Int> places(Int n) {
  std::vector<Int> found;
  const Int middle = Int{1} << 31;
  for (const Int at : {Int{0}, n / 3, middle - 8, middle, 2 * middle - 8, 2 * middle, n - 16})
    if (at >= 0 && at + 16 <= n) found.push_back(at);
  return found;
}

/// Samples of a vector against what each element should be.
template <class Wanted>
void check_samples(const char* what, const Tensor& x, Wanted wanted) {
  REQUIRE(x.ndim() == 1);
  for (const Int at : places(x.numel())) {
    const auto got = slice(x, 0, at, at + 16).cpu().to_vector<double>();
    for (Int i = 0; i < 16; ++i) {
      INFO(what << ", element " << at + i);
      CHECK(got[static_cast<std::size_t>(i)] == static_cast<double>(wanted(at + i)));
    }
  }
}

/// Exact sums, as i64: floats that hold small integers are summed as such.
Int whole_sum(const Tensor& x) { return sum(x.to(i64)).item<Int>(); }

void check_vectors(const Counting& counting) {
  const auto [device, n, dtype, m] = counting;
  const On scope(device);
  const Tensor v = counting.values();
  const auto element = [m = m](Int i) { return i % m; };
  check_samples("counting", v, element);
  CHECK(whole_sum(v) == sum_of_counting(n, m));
  {
    const Tensor reversed = flip(v, {0});
    check_samples("copy of a flip", reversed + 0, [&, n = n](Int i) { return element(n - 1 - i); });
  }
  const Tensor twice = v + where(v > 1, -1, v);  // stays within every dtype
  check_samples("add", twice,
                [&](Int i) { return element(i) > 1 ? element(i) - 1 : 2 * element(i); });
  {
    const Tensor joined = cat({v, twice});
    CHECK(joined.numel() == 2 * n);
    check_samples("concat", joined, [&, n = n](Int i) {
      const Int k = element(i % n);
      return i < n ? k : k > 1 ? k - 1 : 2 * k;
    });
  }
  const Tensor index = tensor({n - 1, Int{0}, n / 2, n - 2, n / 3});
  const auto got = gather(v, 0, index).cpu().to_vector<double>();
  const std::vector<double> wanted{double(element(n - 1)), 0, double(element(n / 2)),
                                   double(element(n - 2)), double(element(n / 3))};
  CHECK(got == wanted);
}

/// A row and a column make a matrix of more elements than 31 bits count.
void check_matrix(Device device, Int rows, Int columns, DType dtype) {
  const On scope(device);
  constexpr Int m = 50;
  const Tensor column = (arange(rows) % m).to(dtype), row = (arange(columns) % m).to(dtype);
  const Tensor matrix = column.reshape({rows, 1}) + row.reshape({1, columns});
  eval(matrix);
  const auto element = [&, columns](Int i) { return i / columns % m + i % columns % m; };
  check_samples("broadcast", matrix.flatten(), element);
  const auto along_rows = sum(matrix.to(i64), 0).cpu().to_vector<Int>();
  const auto along_columns = sum(matrix.to(i64), 1).cpu().to_vector<Int>();
  for (const Int c : {Int{0}, Int{1}, columns / 2, columns - 1})
    CHECK(along_rows[static_cast<std::size_t>(c)] == sum_of_counting(rows, m) + rows * (c % m));
  for (const Int r : {Int{0}, Int{1}, rows / 2, rows - 1})
    CHECK(along_columns[static_cast<std::size_t>(r)] ==
          sum_of_counting(columns, m) + columns * (r % m));
  const Tensor turned = transpose(matrix, 0, 1).reshape({rows * columns});
  check_samples("copy of a transpose", turned + 0,
                [&, rows, columns](Int i) { return element(i % rows * columns + i / rows); });
}

void check_all(Device device, Int n, Int rows, Int columns) {
  constexpr std::pair<DType, Int> moduli[] = {{i8, 113}, {u8, 251}, {f16, 251}, {f32, 251}};
  for (const auto& [dtype, m] : moduli) {
    INFO(name_of(dtype) << " on " << device);
    check_vectors({device, n, dtype, m});
    check_matrix(device, rows, columns, dtype);
    empty_cache(device);
  }
}

/// Every byte to the host, and back.
void check_round_trip(const Counting& counting) {
  const Tensor v = counting.values();
  const auto host = v.cpu().to_vector<std::uint8_t>();
  REQUIRE(static_cast<Int>(host.size()) == counting.n);
  Int wrong = 0;
  for (Int i = 0; i < counting.n; ++i) wrong += host[static_cast<std::size_t>(i)] != i % counting.m;
  CHECK(wrong == 0);
  CHECK(equal(from_vector(host).to(counting.device), v));
}

}  // namespace

TEST_CASE("huge: more than 2^31 elements on a GPU", "[.][gpu][huge]") {
  if (!has_gpus(1)) return;
  const Device device = Device::cuda(0);
  if (cuda::properties(0).free_bytes < std::size_t{100} << 30) {
    WARN("passed over: needs 100 GiB of a GPU's memory");
    return;
  }
  constexpr Int n = (Int{1} << 31) + 5;
  check_all(device, n, 46342, 46343);
  // Literals: the last of so many, and a sum of as many ones.
  CHECK(Counting{device, n, u8, 251}.values().index({n - 1}).item<int>() == 191);
  CHECK(sum(ones({n}, {.dtype = u8, .device = device})).item<Int>() == 2147483653);
  check_round_trip({device, n, u8, 251});
}

TEST_CASE("huge: the same in small, on the cpu") {
  check_all(Device::cpu(), 100'003, 311, 331);
  check_round_trip({Device::cpu(), 100'003, u8, 251});
  CHECK(sum_of_counting(10, 4) == 0 + 1 + 2 + 3 + 0 + 1 + 2 + 3 + 0 + 1);
}
