#include "support/fake_blas.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

#include <weft/graph/dtype.h>

#include "cuda/blas_library.h"
#include "support/fake_cuda.h"

namespace weft::testing {
namespace {

using namespace weft::detail;

struct Operation {
  int compute = 0, scale = 0;
  std::int32_t transposes[2] = {0, 0};
};
struct Layout {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, batch_stride = 0;
  std::int32_t batch_count = 1;
  friend bool operator==(const Layout&, const Layout&) = default;
};
struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t reductions = 7;
  std::uint32_t alignments[4] = {256, 256, 256, 256};
};

struct World {
  std::mutex mutex;
  std::int64_t products = 0, choices = 0;
  std::set<void*> objects;
  std::string failing;
  int status = 0;
  std::int64_t fails_at = 0, calls = 0;  // of that function
  bool has_failed = false;
  bool refuses = false;
};
World& world() {
  static World* const made = new World;
  return *made;
}

int fault(const char* function) {
  const std::lock_guard lock(world().mutex);
  if (world().failing != function || world().status == 0) return 0;
  ++world().calls;
  if (world().fails_at != 0 && world().calls != world().fails_at) return 0;
  world().has_failed = true;
  return world().status;
}

template <class T>
void keep(T* object) {
  const std::lock_guard lock(world().mutex);
  world().objects.insert(object);
}
template <class T, class Tag>
LtStatus drop(Tag* tag) {
  auto* const object = reinterpret_cast<T*>(tag);
  const std::lock_guard lock(world().mutex);
  if (world().objects.erase(object) == 0) return lt_invalid_value;
  delete object;
  return 0;
}
template <class T, class Tag>
T& of(Tag* tag) {
  return *reinterpret_cast<T*>(tag);
}

template <class T>
LtStatus take(T& place, const void* value, std::size_t bytes) {
  if (bytes != sizeof place) return lt_invalid_value;
  std::memcpy(&place, value, bytes);
  return 0;
}

// ---- numbers

std::size_t bytes_of(int type) { return type == lt_f64 ? 8 : type == lt_f32 ? 4 : 2; }

double load(int type, const char* p) {
  const auto as = [p](auto value) {
    std::memcpy(&value, p, sizeof value);
    return value;
  };
  switch (type) {
    case lt_f64: return as(double{});
    case lt_f32: return double(as(float{}));
    case lt_f16: return double(Half::from_bits(as(std::uint16_t{})));
    default: return double(BFloat16::from_bits(as(std::uint16_t{})));
  }
}

void store(int type, char* p, double x) {
  const auto put = [p](auto value) { std::memcpy(p, &value, sizeof value); };
  switch (type) {
    case lt_f64: return put(x);
    case lt_f32: return put(static_cast<float>(x));
    case lt_f16: return put(Half(x).bits);
    default: return put(BFloat16(x).bits);
  }
}

/// Ten bits of significand after the first, ties to even.
double round_to_tf32(double x) {
  int exponent = 0;
  const double significand = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(significand, 11)), exponent - 11);
}

// ---- the library

std::size_t version() { return 130002; }
const char* status_name(LtStatus) { return "FAKE_BLAS_ERROR"; }
LtStatus create(LtHandle* handle) {
  if (const int status = fault("cublasLtCreate")) return status;
  *handle = reinterpret_cast<LtHandle>(std::uintptr_t{0x17});
  return 0;
}
LtStatus create_operation(LtOperation* operation, int compute, int scale) {
  if (const int status = fault("cublasLtMatmulDescCreate")) return status;
  auto* const made = new Operation{compute, scale};
  keep(made);
  *operation = reinterpret_cast<LtOperation>(made);
  return 0;
}
LtStatus destroy_operation(LtOperation operation) { return drop<Operation>(operation); }
LtStatus set_operation(LtOperation operation, int attribute, const void* value, std::size_t bytes) {
  if (const int status = fault("cublasLtMatmulDescSetAttribute")) return status;
  if (attribute != lt_operation_transpose_a && attribute != lt_operation_transpose_b)
    return lt_invalid_value;
  return take(of<Operation>(operation).transposes[attribute - lt_operation_transpose_a], value,
              bytes);
}
LtStatus create_layout(LtLayout* layout, int type, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t leading) {
  if (const int status = fault("cublasLtMatrixLayoutCreate")) return status;
  if (rows == 0 || columns == 0 || leading < std::int64_t(rows)) return lt_invalid_value;
  auto* const made = new Layout{type, rows, columns, leading, 0, 1};
  keep(made);
  *layout = reinterpret_cast<LtLayout>(made);
  return 0;
}
LtStatus destroy_layout(LtLayout layout) { return drop<Layout>(layout); }
LtStatus set_layout(LtLayout layout, int attribute, const void* value, std::size_t bytes) {
  if (const int status = fault("cublasLtMatrixLayoutSetAttribute")) return status;
  Layout& set = of<Layout>(layout);
  if (attribute == lt_layout_batch_count) return take(set.batch_count, value, bytes);
  if (attribute == lt_layout_batch_stride) return take(set.batch_stride, value, bytes);
  return lt_invalid_value;
}
LtStatus create_preference(LtPreference* preference) {
  if (const int status = fault("cublasLtMatmulPreferenceCreate")) return status;
  auto* const made = new Preference;
  keep(made);
  *preference = reinterpret_cast<LtPreference>(made);
  return 0;
}
LtStatus destroy_preference(LtPreference preference) { return drop<Preference>(preference); }
LtStatus set_preference(LtPreference preference, int attribute, const void* value,
                        std::size_t bytes) {
  if (const int status = fault("cublasLtMatmulPreferenceSetAttribute")) return status;
  Preference& set = of<Preference>(preference);
  if (attribute == lt_preference_workspace) return take(set.workspace, value, bytes);
  if (attribute == lt_preference_reductions) return take(set.reductions, value, bytes);
  const int which = attribute - lt_preference_alignment_a;
  if (which < 0 || which > 3) return lt_invalid_value;
  return take(set.alignments[which], value, bytes);
}

struct Problem {
  Operation operation;
  Layout a, b, d;
  std::uint64_t m() const { return d.rows; }
  std::uint64_t n() const { return d.columns; }
  std::uint64_t k() const { return operation.transposes[0] ? a.rows : a.columns; }
  bool is_sound() const {
    const std::uint64_t a_rows = operation.transposes[0] ? a.columns : a.rows;
    const std::uint64_t b_rows = operation.transposes[1] ? b.columns : b.rows;
    const std::uint64_t b_columns = operation.transposes[1] ? b.rows : b.columns;
    const bool is_double = d.type == lt_f64;
    return a.type == d.type && b.type == d.type && a_rows == m() && b_rows == k() &&
           b_columns == n() && a.batch_count == d.batch_count && b.batch_count == d.batch_count &&
           operation.scale == (is_double ? lt_f64 : lt_f32) &&
           (operation.compute == (is_double ? lt_compute_f64 : lt_compute_f32) ||
            (operation.compute == lt_compute_tf32 && d.type == lt_f32));
  }
};

LtStatus find_algorithms(LtHandle, LtOperation operation, LtLayout a, LtLayout b, LtLayout c,
                         LtLayout d, LtPreference preference, int wanted, LtHeuristic* found,
                         int* count) {
  if (const int status = fault("cublasLtMatmulAlgoGetHeuristic")) return status;
  const Problem problem{of<Operation>(operation), of<Layout>(a), of<Layout>(b), of<Layout>(d)};
  const auto& preferred = of<Preference>(preference);
  if (wanted < 1 || !problem.is_sound() || !(of<Layout>(c) == problem.d)) return lt_invalid_value;
  const std::lock_guard lock(world().mutex);
  ++world().choices;
  *count = world().refuses || preferred.reductions != 2 ? 0 : 1;
  *found = {};
  found->state = *count == 1 ? 0 : lt_not_supported;
  // What the algorithm was chosen for, to be compared with what it is used for.
  found->algorithm.data[0] = problem.m() << 32 | problem.n();
  found->algorithm.data[1] = problem.k();
  for (int i = 0; i < 4; ++i) found->algorithm.data[2 + i] = preferred.alignments[i];
  found->workspace_bytes = std::min<std::size_t>(preferred.workspace, 512 + problem.k() % 7 * 256);
  found->algorithm.data[6] = found->workspace_bytes;
  return 0;
}

void compute(const Problem& problem, const char* a, const char* b, char* d) {
  const auto element = [](const Layout& layout, bool transposed, const char* data,
                          std::uint64_t row, std::uint64_t column) {
    if (transposed) std::swap(row, column);
    const std::uint64_t at = row + column * std::uint64_t(layout.leading);
    return load(layout.type, data + at * bytes_of(layout.type));
  };
  const bool is_tf32 = problem.operation.compute == lt_compute_tf32;
  for (std::int32_t i = 0; i < problem.d.batch_count; ++i) {
    const auto of_batch = [i](const Layout& layout) {
      return i * layout.batch_stride * std::int64_t(bytes_of(layout.type));
    };
    for (std::uint64_t column = 0; column < problem.n(); ++column)
      for (std::uint64_t row = 0; row < problem.m(); ++row) {
        double sum = 0;
        for (std::uint64_t p = 0; p < problem.k(); ++p) {
          double x =
              element(problem.a, problem.operation.transposes[0], a + of_batch(problem.a), row, p);
          double y = element(problem.b, problem.operation.transposes[1], b + of_batch(problem.b), p,
                             column);
          if (is_tf32) x = round_to_tf32(x), y = round_to_tf32(y);
          sum += x * y;
        }
        const std::uint64_t at = row + column * std::uint64_t(problem.d.leading);
        store(problem.d.type, d + of_batch(problem.d) + at * bytes_of(problem.d.type), sum);
      }
  }
}

LtStatus multiply(LtHandle handle, LtOperation operation, const void* alpha, const void* a,
                  LtLayout a_layout, const void* b, LtLayout b_layout, const void* beta,
                  const void* c, LtLayout c_layout, void* d, LtLayout d_layout,
                  const LtAlgorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                  CuStream stream) {
  if (const int status = fault("cublasLtMatmul")) return status;
  const Problem problem{of<Operation>(operation), of<Layout>(a_layout), of<Layout>(b_layout),
                        of<Layout>(d_layout)};
  const auto is_number = [&](const void* number, double x) {
    return load(problem.operation.scale, static_cast<const char*>(number)) == x;
  };
  const auto fits = [algorithm](const void* address, int which) {
    return reinterpret_cast<std::uintptr_t>(address) % algorithm->data[2 + which] == 0;
  };
  if (!handle || !algorithm || !problem.is_sound() || c != d || c_layout != d_layout ||
      !is_number(alpha, 1) || !is_number(beta, 0) ||
      algorithm->data[0] != (problem.m() << 32 | problem.n()) ||
      algorithm->data[1] != problem.k() || algorithm->data[6] != workspace_bytes || !fits(a, 0) ||
      !fits(b, 1) || !fits(d, 3) || !workspace ||
      reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
    return lt_invalid_value;
  const auto work = [=] {
    std::memset(workspace, 0x77, workspace_bytes);
    compute(problem, static_cast<const char*>(a), static_cast<const char*>(b),
            static_cast<char*>(d));
    const std::lock_guard lock(world().mutex);
    ++world().products;
  };
  return FakeCuda::queue(stream, work) == 0 ? 0 : lt_execution_failed;
}

const BlasCalls& fake_calls() {
  static const BlasCalls calls = [] {
    BlasCalls made;
#define WEFT_CALL(name, symbol, result, parameters) made.name = name;
    WEFT_BLAS_CALLS(WEFT_CALL)
#undef WEFT_CALL
    return made;
  }();
  return calls;
}

}  // namespace

FakeBlas::FakeBlas() {
  fail("", 0);
  refuse(false);
  const std::lock_guard lock(world().mutex);
  world().products = world().choices = 0;
  replace_blas_calls(&fake_calls());
}

FakeBlas::~FakeBlas() { replace_blas_calls(nullptr); }

std::int64_t FakeBlas::products() {
  const std::lock_guard lock(world().mutex);
  return world().products;
}
std::int64_t FakeBlas::objects() {
  const std::lock_guard lock(world().mutex);
  return static_cast<std::int64_t>(world().objects.size());
}
std::int64_t FakeBlas::choices() {
  const std::lock_guard lock(world().mutex);
  return world().choices;
}
void FakeBlas::fail(const std::string& function, int status, std::int64_t k) {
  const std::lock_guard lock(world().mutex);
  world().failing = function;
  world().status = status;
  world().fails_at = k;
  world().calls = 0;
  world().has_failed = false;
}
bool FakeBlas::has_failed() {
  const std::lock_guard lock(world().mutex);
  return world().has_failed;
}
void FakeBlas::refuse(bool on) {
  const std::lock_guard lock(world().mutex);
  world().refuses = on;
}

}  // namespace weft::testing
