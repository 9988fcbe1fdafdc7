// Products of vectors and matrices as views around the one matrix product.
#include <cmath>

#include "composite.h"
#include "reduce.h"

namespace weft {
namespace detail {
namespace {

std::string both(const TensorArg& a, const TensorArg& b) {
  return "a " + describe(a.ref()) + ", b " + describe(b.ref());
}

void check_ranks(const char* op, const TensorArg& a, int rank_a, const TensorArg& b, int rank_b,
                 const char* remedy) {
  if (spec_of(a, op).shape.ndim() != rank_a || spec_of(b, op).shape.ndim() != rank_b)
    fail<ShapeError>(a.at(), std::string(op) + ": takes operands of " + std::to_string(rank_a) +
                                 " and " + std::to_string(rank_b) + " axes: " + both(a, b) + "; " +
                                 remedy);
}

/// Axes of one operand, in the order given, each once.
IntList contracted(const char* op, const TensorArg& x, const Dims& axes) {
  IntList result;
  if (axes.empty()) return result;
  axes_mask(op, x, axes);
  for (const std::int64_t axis : axes) result.push_back(axis_of(op, x, axis));
  return result;
}

/// The axes that are not named.
IntList others(int rank, const IntList& axes) {
  IntList result;
  for (int i = 0; i < rank; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) result.push_back(i);
  return result;
}

/// As a matrix: one group of axes, then another.
Tensor as_matrix(const TensorArg& x, const IntList& rows, const IntList& columns) {
  const Where at = x.at();
  const Shape shape = spec_of(x, "tensordot").shape;
  Dims order(at);
  std::int64_t extents[2] = {1, 1};
  for (const std::int64_t axis : rows) {
    order.push_back(axis);
    extents[0] *= shape[static_cast<std::size_t>(axis)];
  }
  for (const std::int64_t axis : columns) {
    order.push_back(axis);
    extents[1] *= shape[static_cast<std::size_t>(axis)];
  }
  return reshape({permute(x, order), at}, Dims({extents[0], extents[1]}, at));
}

Tensor contract(const TensorArg& a, const TensorArg& b, const IntList& axes_a,
                const IntList& axes_b) {
  const Within within(composite<"tensordot">);
  const Where at = a.at();
  const Shape x = spec_of(a, "tensordot").shape, y = spec_of(b, "tensordot").shape;
  for (std::size_t i = 0; i < axes_a.size(); ++i) {
    const auto p = static_cast<std::size_t>(axes_a[i]), q = static_cast<std::size_t>(axes_b[i]);
    if (x[p] != y[q])
      fail<ShapeError>(at, "tensordot: axis " + std::to_string(p) + " of a and axis " +
                               std::to_string(q) + " of b differ: " + both(a, b) +
                               "; contract axes of one extent");
  }
  const DType dtype = promoted("tensordot", a, b);
  const IntList rows = others(x.ndim(), axes_a), columns = others(y.ndim(), axes_b);
  Dims shape(at);
  for (const std::int64_t axis : rows) shape.push_back(x[static_cast<std::size_t>(axis)], at);
  for (const std::int64_t axis : columns) shape.push_back(y[static_cast<std::size_t>(axis)], at);
  const Tensor left = as_matrix({cast({tensor_of(a), at}, dtype), at}, rows, axes_a);
  const Tensor right = as_matrix({cast({tensor_of(b), at}, dtype), at}, axes_b, columns);
  return reshape({matmul({left, at}, {right, at}), at}, shape);
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor dot(const TensorArg& a, const TensorArg& b) {
  const Within within(composite<"dot">);
  check_ranks("dot", a, 1, b, 1, "flatten them, or use matmul");
  if (spec_of(a, "dot").shape != spec_of(b, "dot").shape)
    fail<ShapeError>(a.at(), "dot: lengths differ: " + both(a, b) + "; give vectors of one length");
  return matmul(a, b);
}

Tensor outer(const TensorArg& a, const TensorArg& b) {
  const Within within(composite<"outer">);
  check_ranks("outer", a, 1, b, 1, "flatten them, or multiply with axes that broadcast");
  return mul({unsqueeze(a, 1), a.at()}, b);
}

Tensor mv(const TensorArg& a, const TensorArg& b) {
  const Within within(composite<"mv">);
  check_ranks("mv", a, 2, b, 1, "use matmul for others");
  return matmul(a, b);
}

Tensor mm(const TensorArg& a, const TensorArg& b) {
  const Within within(composite<"mm">);
  check_ranks("mm", a, 2, b, 2, "use matmul for others");
  return matmul(a, b);
}

Tensor bmm(const TensorArg& a, const TensorArg& b) {
  const Within within(composite<"bmm">);
  check_ranks("bmm", a, 3, b, 3, "use matmul for others");
  if (spec_of(a, "bmm").shape[0] != spec_of(b, "bmm").shape[0])
    fail<ShapeError>(a.at(),
                     "bmm: batches differ: " + both(a, b) +
                         "; give as many matrices in both, or use matmul, which broadcasts");
  return matmul(a, b);
}

Tensor addmm(const TensorArg& x, const TensorArg& a, const TensorArg& b, double beta,
             double alpha) {
  const Within within(composite<"addmm">);
  const Where at = x.at();
  check_ranks("addmm", a, 2, b, 2, "use matmul and + for others");
  const Tensor product = matmul({tensor_of(a), at}, b);
  const Shape shape = spec_of(x, "addmm").shape, result = product.shape(at);
  if (broadcast_shapes("addmm", shape, result, at) != result)
    fail<ShapeError>(at, "addmm: x " + describe(x.ref()) + " does not broadcast to the product, " +
                             both(a, b) + "; give it the product's extents, or 1");
  const auto scaled = [&](const Tensor& term, double by) {
    if (by == 1) return term;
    const bool is_whole = !is_floating(term.dtype(at)) && std::abs(by) < 0x1p63 &&
                          by == static_cast<double>(std::int64_t(by));
    return mul({term, at}, is_whole ? Operand(std::int64_t(by), at) : Operand(by, at));
  };
  // As in BLAS: what is not wanted is not looked at, a NaN in it neither.
  if (beta == 0) {
    const Tensor term = scaled(product, alpha);
    const DType promoted_dtype = promoted("addmm", x, {term, at});
    return cast({term, at}, promoted_dtype);
  }
  return add({scaled(tensor_of(x), beta), at}, {scaled(product, alpha), at});
}

Tensor kron(const TensorArg& a, const TensorArg& b) {
  const Within within(composite<"kron">);
  const Where at = a.at();
  const Shape x = spec_of(a, "kron").shape, y = spec_of(b, "kron").shape;
  const int rank = std::max(x.ndim(), y.ndim());
  if (2 * rank > max_rank)
    fail<ShapeError>(at, "kron: takes operands of up to " + std::to_string(max_rank / 2) +
                             " axes: " + both(a, b) + "; flatten some");
  Shape blocks, inner, result;
  for (int i = 0; i < rank; ++i) {
    const int p = i - rank + x.ndim(), q = i - rank + y.ndim();
    const std::int64_t m = p < 0 ? 1 : x[p], n = q < 0 ? 1 : y[q];
    for (const std::int64_t extent : {m, std::int64_t{1}}) blocks.push_back(extent);
    for (const std::int64_t extent : {std::int64_t{1}, n}) inner.push_back(extent);
    result.push_back(product_of_extents("kron", a, m, n));
  }
  check_size("kron", result, promoted("kron", a, b), at);
  const Tensor left = reshape(a, Dims(blocks, at)), right = reshape(b, Dims(inner, at));
  return reshape({mul({left, at}, {right, at}), at}, Dims(result, at));
}

Tensor tensordot(const TensorArg& a, const TensorArg& b, std::int64_t count) {
  const int rank_a = spec_of(a, "tensordot").shape.ndim();
  if (count < 0 || count > rank_a || count > spec_of(b, "tensordot").shape.ndim())
    fail<ValueError>(a.at(), "tensordot: contracts " + std::to_string(count) + " axes of " +
                                 both(a, b) + "; give a number that both have");
  IntList last, first;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    last.push_back(rank_a - static_cast<int>(count) + i);
    first.push_back(i);
  }
  return contract(a, b, last, first);
}

Tensor tensordot(const TensorArg& a, const TensorArg& b, const Dims& axes_a, const Dims& axes_b) {
  if (axes_a.size() != axes_b.size())
    fail<ValueError>(a.at(), "tensordot: " + std::to_string(axes_a.size()) + " axes of a, " +
                                 std::to_string(axes_b.size()) + " of b: " + both(a, b) +
                                 "; name as many of both");
  return contract(a, b, contracted("tensordot", a, axes_a), contracted("tensordot", b, axes_b));
}

Tensor cross(const TensorArg& a, const TensorArg& b, std::int64_t axis) {
  const Within within(composite<"cross">);
  const Where at = a.at();
  const Shape x = spec_of(a, "cross").shape, y = spec_of(b, "cross").shape;
  const Shape shape = broadcast_shapes("cross", x, y, at);
  const DType dtype = promoted("cross", a, b);
  const int along = axis_of("cross", x.ndim() < y.ndim() ? b : a, axis);
  const auto from_end = static_cast<std::size_t>(shape.ndim() - along);
  const bool is_triple = from_end <= x.size() && from_end <= y.size() &&
                         x[x.size() - from_end] == 3 && y[y.size() - from_end] == 3;
  if (!is_triple)
    fail<ShapeError>(at, "cross: axis " + std::to_string(along) + " is not 3 long: " + both(a, b) +
                             "; name the axis of the coordinates");
  const Tensor left = expand({cast({tensor_of(a), at}, dtype), at}, Dims(shape, at));
  const Tensor right = expand({cast({tensor_of(b), at}, dtype), at}, Dims(shape, at));
  std::vector<Tensor> coordinates;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const auto product = [&](int p, int q) {
      return mul({slice({left, at}, along, p, p + 1), at},
                 {slice({right, at}, along, q, q + 1), at});
    };
    coordinates.push_back(sub({product(j, k), at}, {product(k, j), at}));
  }
  return cat({coordinates, at}, along);
}

Tensor matrix_power(const TensorArg& x, std::int64_t n) {
  const Within within(composite<"matrix_power">);
  const Where at = x.at();
  const Spec spec = spec_of(x, "matrix_power");
  const std::size_t rank = spec.shape.size();
  if (rank < 2 || spec.shape[rank - 1] != spec.shape[rank - 2])
    fail<ShapeError>(at, "matrix_power: takes a square matrix, or several: " + describe(x.ref()) +
                             "; slice or reshape it");
  if (n < 0)
    fail<ValueError>(at, "matrix_power: the power is " + std::to_string(n) + ": " +
                             describe(x.ref()) + "; give 0 or more, of the inverse for less");
  if (n == 0) {
    const Ref ref = x.ref();
    const Tensor one =
        eye(spec.shape.back(), std::nullopt,
            {.dtype = spec.dtype, .device = common_device("matrix_power", {&ref, 1}, at)}, at);
    return expand({one, at}, Dims(spec.shape, at));
  }
  Tensor square = tensor_of(x), result;
  for (; n > 0; n /= 2) {
    if (n % 2 == 1) result = result.defined() ? matmul({result, at}, {square, at}) : square;
    if (n > 1) square = matmul({square, at}, {square, at});
  }
  return result;
}

}  // namespace weft
