// Matrix products: NumPy's rank rules as views around the one product of equal batches.
#include "rules.h"

namespace weft {
namespace detail {

bool consistent_matmul(std::span<const Spec> inputs, const Attrs&, std::span<const Spec> outputs) {
  if (inputs.size() != 2 || outputs.size() != 1) return false;
  const Shape& a = inputs[0].shape;
  const Shape& b = inputs[1].shape;
  const std::size_t rank = a.size();
  if (inputs[0].dtype != inputs[1].dtype || rank < 2 || b.size() != rank) return false;
  Shape product = a;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return false;
    product[i] = a[i] == 1 ? b[i] : a[i];
  }
  product[rank - 1] = b[rank - 1];
  return a[rank - 1] == b[rank - 2] && outputs[0] == Spec{product, inputs[0].dtype};
}

namespace {

std::string operands(const TensorArg& a, const TensorArg& b) {
  return "a " + describe(a.ref()) + ", b " + describe(b.ref());
}

/// The shape without its last axes.
Shape batch_of(const Shape& shape, int matrix_axes) {
  Shape batch;
  for (int i = 0; i < shape.ndim() - matrix_axes; ++i)
    batch.push_back(shape[static_cast<std::size_t>(i)]);
  return batch;
}

bool broadcasts(const Shape& a, const Shape& b) {
  for (std::size_t i = 1; i <= a.size() && i <= b.size(); ++i) {
    const std::int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

/// The dtype that an enclosing autocast runs a product in: f64 and integers stay.
DType product_dtype(DType own) {
  const DType wanted = ambient().autocast;
  return wanted != DType::f32 && is_floating(own) && own != DType::f64 ? wanted : own;
}

void check_operands(const TensorArg& a, const TensorArg& b) {
  const Where at = a.at();
  const Spec x = spec_of(a, "matmul"), y = spec_of(b, "matmul");
  if (product_dtype(x.dtype) != product_dtype(y.dtype))
    fail<DTypeError>(at,
                     "matmul: dtypes differ: " + operands(a, b) + "; cast one, as b.to(a.dtype())");
  if (x.dtype == DType::bool_)
    fail<DTypeError>(at, "matmul: bools have no product: " + operands(a, b) +
                             "; cast them, as a.to(f32)");
  if (x.shape.empty() || y.shape.empty())
    fail<ShapeError>(at, "matmul: an operand has no axes: " + operands(a, b) +
                             "; multiply by a 0-dim tensor with *");
  const std::int64_t inner = x.shape.back();
  const std::int64_t other = y.shape.ndim() == 1 ? y.shape[0] : y.shape[y.shape.size() - 2];
  if (inner != other)
    fail<ShapeError>(at, "matmul: inner sizes differ: " + operands(a, b) +
                             "; the last axis of a and the last but one of b must be equal: "
                             "transpose one of them?");
  if (!broadcasts(batch_of(x.shape, 2), batch_of(y.shape, 2)))
    fail<ShapeError>(at, "matmul: batch axes do not broadcast: " + operands(a, b) +
                             "; make them equal, or 1");
}

Tensor record_product(const Tensor& a, const Tensor& b, const Shape& shape, Where at) {
  const Ref inputs[] = {a.ref(), b.ref()};
  const Spec spec{shape, a.dtype(at)};
  check_size("matmul", shape, spec.dtype, at);
  return record_structured(OpId::matmul, inputs, {}, spec, common_device("matmul", inputs, at), at);
}

Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t columns, Where at) {
  batch.push_back(rows, at);
  batch.push_back(columns, at);
  return batch;
}

/// Of operands with at least two axes.
Tensor product(const Tensor& a, const Tensor& b, Where at) {
  const Shape x = a.shape(at), y = b.shape(at);
  const std::int64_t rows = x[x.size() - 2], inner = x.back(), columns = y.back();
  if (x.ndim() == 2 && y.ndim() == 2) return record_product(a, b, {rows, columns}, at);
  const Shape batch_a = batch_of(x, 2);
  const Shape full_shape = with_matrix(batch_a, rows, columns, at);
  if (y.ndim() == 2) {
    // One matrix for the whole batch: its rows in one product, and one for b's gradient.
    const std::int64_t all_rows = batch_a.numel() * rows;
    check_size("matmul", full_shape, a.dtype(at), at);
    const Tensor flat = reshape({a, at}, Dims(Shape{all_rows, inner}, at));
    return reshape({record_product(flat, b, {all_rows, columns}, at), at}, Dims(full_shape, at));
  }
  const Shape batch = broadcast_shapes("matmul", batch_a, batch_of(y, 2), at);
  const Shape shape = with_matrix(batch, rows, columns, at);
  check_size("matmul", shape, a.dtype(at), at);
  const Dims shape_a(with_matrix(batch, rows, inner, at), at);
  const Dims shape_b(with_matrix(batch, inner, columns, at), at);
  return record_product(expand({a, at}, shape_a), expand({b, at}, shape_b), shape, at);
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor matmul(const TensorArg& a, const TensorArg& b) {
  const Where at = a.at();
  check_operands(a, b);
  const Ref given[] = {a.ref(), b.ref()};
  common_device("matmul", given, at);
  const DType dtype = product_dtype(spec_of(a, "matmul").dtype);
  const Tensor x = cast({tensor_of(a), at}, dtype), y = cast({tensor_of(b), at}, dtype);
  const bool is_row = x.ndim(at) == 1, is_column = y.ndim(at) == 1;
  const Tensor result =
      product(is_row ? unsqueeze({x, at}, 0) : x, is_column ? unsqueeze({y, at}, 1) : y, at);
  Shape shape = result.shape(at);
  if (is_column) shape.erase(shape.ndim() - 1);
  if (is_row) shape.erase(shape.ndim() - (is_column ? 1 : 2));
  return reshape({result, at}, Dims(shape, at));
}

}  // namespace weft
