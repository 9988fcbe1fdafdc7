// Products of vectors and matrices, and sums of products by an equation.
#pragma once

#include <cstdint>
#include <string_view>

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

/// Of two vectors of one length: the sum of their products.
Tensor dot(const TensorArg& a, const TensorArg& b);
/// All products of elements of two vectors: a matrix.
Tensor outer(const TensorArg& a, const TensorArg& b);
// `matmul` of these ranks alone: matrix and vector, two matrices, two batches of matrices.
Tensor mv(const TensorArg& a, const TensorArg& b);
Tensor mm(const TensorArg& a, const TensorArg& b);
Tensor bmm(const TensorArg& a, const TensorArg& b);
/// beta * x + alpha * mm(a, b)
Tensor addmm(const TensorArg& x, const TensorArg& a, const TensorArg& b, double beta = 1,
             double alpha = 1);
/// Kronecker's product: each element of a times all of b, in blocks.
Tensor kron(const TensorArg& a, const TensorArg& b);

/// Einstein's sum: "ij,jk->ik" is a product of matrices. Letters name axes, one in several places
/// runs along all of them; those that the output does not name are summed over. In one operand
/// twice: the diagonal. "..." stands for the other axes, which broadcast. Without "->": the letters
/// that appear once, in alphabetical order, after the axes of "...". Several operands are
/// contracted in pairs, the cheapest first. Dtypes promote; sums of integers keep their dtype and
/// wrap. ValueError for an equation that cannot be read, ShapeError for operands that do not suit
/// it.
Tensor einsum(std::string_view equation, const TensorList& tensors);
/// Sum of products over the last `count` axes of a and the first of b.
Tensor tensordot(const TensorArg& a, const TensorArg& b, std::int64_t count = 2);
/// The same over these axes of a and of b, in pairs.
Tensor tensordot(const TensorArg& a, const TensorArg& b, const Dims& axes_a, const Dims& axes_b);

/// Sum of the main diagonal of a matrix.
Tensor trace(const TensorArg& x);
/// Vector product along an axis of extent 3; the others broadcast.
Tensor cross(const TensorArg& a, const TensorArg& b, std::int64_t axis = -1);
/// Product of n of the same square matrices; of none the identity.
Tensor matrix_power(const TensorArg& x, std::int64_t n);

}  // namespace weft
