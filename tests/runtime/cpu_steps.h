// Steps of the cpu built by hand: operands in guarded memory, bodies of fused groups.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include <weft/codegen/program.h>

#include "backend.h"
#include "cpu/host.h"
#include "cpu/pool.h"
#include "support/catch.h"

namespace weft::testing {

using namespace detail;

/// Memory whose last byte is followed by a page that may not be touched.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : size_((bytes + page - 1) / page * page + page) {
    base_ = static_cast<char*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base_ != MAP_FAILED);
    REQUIRE(mprotect(base_ + size_ - page, page, PROT_NONE) == 0);
    data_ = base_ + size_ - page - bytes;
    std::memset(base_, 0x5a, static_cast<std::size_t>(data_ - base_));
  }
  Guarded(Guarded&& other) noexcept
      : size_(other.size_), base_(std::exchange(other.base_, nullptr)), data_(other.data_) {}
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded() {
    if (base_) munmap(base_, size_);
  }
  char* data() const { return data_; }
  bool is_intact() const {
    for (const char* p = base_; p < data_; ++p)
      if (*p != 0x5a) return false;
    return true;
  }

 private:
  static constexpr std::size_t page = 4096;
  std::size_t size_;
  char* base_;
  char* data_;
};

inline void set_element(DType dtype, char* p, double x) {
  const auto put = [p](auto value) { std::memcpy(p, &value, sizeof value); };
  switch (dtype) {
    case DType::f16: return put(Half(x).bits);
    case DType::bf16: return put(BFloat16(x).bits);
    case DType::f32: return put(static_cast<float>(x));
    case DType::f64: return put(x);
    case DType::i8: return put(static_cast<std::int8_t>(static_cast<std::int64_t>(x)));
    case DType::i32: return put(static_cast<std::int32_t>(static_cast<std::int64_t>(x)));
    case DType::i64: return put(static_cast<std::int64_t>(x));
    case DType::u8: return put(static_cast<std::uint8_t>(static_cast<std::int64_t>(x)));
    case DType::bool_: return put(static_cast<std::uint8_t>(x != 0));
  }
}

inline double element(DType dtype, const char* p) {
  const auto as = [p](auto value) {
    std::memcpy(&value, p, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::f16: return double(Half::from_bits(as(std::uint16_t{})));
    case DType::bf16: return double(BFloat16::from_bits(as(std::uint16_t{})));
    case DType::f32: return as(float{});
    case DType::f64: return as(double{});
    case DType::i8: return as(std::int8_t{});
    case DType::i32: return as(std::int32_t{});
    case DType::i64: return static_cast<double>(as(std::int64_t{}));
    default: return as(std::uint8_t{});
  }
}

/// What an element of the dtype becomes of this number: rounded, or wrapped.
inline double as_element(DType dtype, double x) {
  char bytes[8];
  set_element(dtype, bytes, x);
  return element(dtype, bytes);
}

/// A dense tensor; views of it are operands.
struct Array {
  DType dtype;
  Shape shape;
  Guarded memory;

  Array(DType d, const Shape& s)
      : dtype(d), shape(s), memory(static_cast<std::size_t>(s.numel()) * size_of(d)) {}
  template <class F>
  Array(DType d, const Shape& s, F value) : Array(d, s) {
    for (std::int64_t i = 0; i < numel(); ++i) set(i, value(i));
  }
  std::int64_t numel() const { return shape.numel(); }
  char* at(std::int64_t i) const { return memory.data() + i * static_cast<std::int64_t>(size_of(dtype)); }
  double operator[](std::int64_t i) const { return element(dtype, at(i)); }
  void set(std::int64_t i, double x) { set_element(dtype, at(i), x); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(memory.data());
  }
  std::vector<char> bytes() const {
    return {memory.data(), memory.data() + numel() * static_cast<std::int64_t>(size_of(dtype))};
  }

  ResolvedOperand dense() const {
    ResolvedOperand operand = view(shape, {});
    std::int64_t stride = 1;
    for (int d = operand.rank - 1; d >= 0; --d) {
      operand.strides[d] = stride;
      stride *= operand.shape[d];
    }
    return operand;
  }
  ResolvedOperand view(const Shape& extents, const std::vector<std::int64_t>& strides,
                       std::int64_t offset = 0) const {
    ResolvedOperand operand;
    operand.data = reinterpret_cast<std::uintptr_t>(at(offset));
    operand.dtype = dtype;
    operand.rank = extents.ndim();
    for (int d = 0; d < operand.rank; ++d) {
      operand.shape[d] = extents[static_cast<std::size_t>(d)];
      if (static_cast<std::size_t>(d) < strides.size())
        operand.strides[d] = strides[static_cast<std::size_t>(d)];
    }
    return operand;
  }
};

/// Element number `linear` of an operand in row-major order.
inline double read(const ResolvedOperand& x, std::int64_t linear) {
  std::int64_t offset = 0;
  for (int d = x.rank - 1; d >= 0; --d) {
    offset += linear % x.shape[d] * x.strides[d];
    linear /= x.shape[d];
  }
  return element(x.dtype, reinterpret_cast<const char*>(x.data) +
                              offset * static_cast<std::int64_t>(size_of(x.dtype)));
}

/// One step; attributes that are arguments become slots of the same number.
struct TestStep {
  FrozenStep step{};
  std::vector<ResolvedOperand> inputs, outputs;
  std::vector<std::uint64_t> arguments;
  ErrorWord error;
  Numerics numerics = Numerics::standard;

  TestStep() { step.kind = StepKind::kernel; }
  TestStep(OpId op, std::initializer_list<std::int64_t> attributes) : TestStep() {
    step.op = op;
    int i = 0;
    for (const std::int64_t v : attributes) {
      const bool is_argument = info(op).argument_mask >> i & 1;
      step.attrs.v[i] = is_argument ? i : v;
      arguments.push_back(static_cast<std::uint64_t>(v));
      ++i;
    }
  }
  void run() {
    const StepCall call{&step, 7, inputs, outputs, arguments.data(), &error, numerics};
    run_on_host(call);
  }
};

/// Builds the body of a fused group vertex by vertex.
struct Body {
  detail::Graph graph;
  std::uint32_t add(OpId op, DType dtype, std::initializer_list<std::uint32_t> sources) {
    Vertex vertex{};
    vertex.op = op;
    vertex.dtype = dtype;
    vertex.in_begin = static_cast<std::uint32_t>(graph.edges.size());
    vertex.in_count = static_cast<std::uint32_t>(sources.size());
    for (const std::uint32_t source : sources) graph.edges.push_back({{source, 0}, identity_map});
    graph.vertices.push_back(vertex);
    return static_cast<std::uint32_t>(graph.vertices.size() - 1);
  }
  std::uint32_t input(DType dtype) {
    const std::uint32_t v = add(OpId::data, dtype, {});
    graph.vertices[v].leaf = static_cast<std::int32_t>(graph.leaf_count++);
    return v;
  }
  std::uint32_t argument(DType dtype, std::int64_t slot) {
    const std::uint32_t v = add(OpId::scalar, dtype, {});
    graph.vertices[v].attrs.v[0] = slot;
    return v;
  }
  void output(std::uint32_t v) { graph.outputs.push_back({v, 0}); }
  std::shared_ptr<const Program> program() const {
    return std::make_shared<const Program>(lower(graph));
  }
};

inline constexpr DType all_dtypes[] = {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8,
                                       DType::i32, DType::i64,  DType::u8,  DType::bool_};

}  // namespace weft::testing
