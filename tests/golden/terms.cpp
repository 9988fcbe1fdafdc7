// Largest term of the sum behind each element of a result, from the case's inputs.
#include <algorithm>
#include <cmath>

#include "tolerance.h"

namespace golden {
namespace {

using Extents = std::vector<std::int64_t>;

// The elements of `shape` put into groups, one for each element of the reduction over `dims`.
struct Grouping {
  std::vector<std::size_t> group_of;
  std::size_t groups = 1;
};

std::vector<bool> reduced_axes(const Attrs& attrs, std::size_t rank) {
  const Attrs dim = attrs.value("dim", Attrs());
  std::vector<bool> reduced(rank, dim.is_null());
  const auto mark = [&](std::int64_t axis) {
    if (rank > 0)
      reduced[static_cast<std::size_t>(axis < 0 ? axis + std::int64_t(rank) : axis)] = true;
  };
  if (dim.is_number()) mark(dim.get<std::int64_t>());
  if (dim.is_array())
    for (const Attrs& axis : dim) mark(axis.get<std::int64_t>());
  return reduced;
}

Grouping group(const Extents& shape, const std::vector<bool>& reduced) {
  Extents stride(shape.size(), 0);
  std::int64_t groups = 1, numel = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    numel *= shape[d];
    if (reduced[d]) continue;
    stride[d] = groups;
    groups *= shape[d];
  }
  Grouping grouping{{}, static_cast<std::size_t>(groups)};
  Extents position(shape.size(), 0);
  for (std::int64_t i = 0; i < numel; ++i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) at += position[d] * stride[d];
    grouping.group_of.push_back(static_cast<std::size_t>(at));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++position[d] < shape[d]) break;
      position[d] = 0;
    }
  }
  return grouping;
}

template <class Term>
std::vector<double> largest_of_groups(const Grouping& grouping, Term term) {
  std::vector<double> largest(grouping.groups, 0.0);
  for (std::size_t i = 0; i < grouping.group_of.size(); ++i) {
    const double value = std::fabs(term(i));
    double& best = largest[grouping.group_of[i]];
    if (std::isfinite(value)) best = std::max(best, value);
  }
  return largest;
}

std::vector<double> spread(const Grouping& grouping, const std::vector<double>& of_group) {
  std::vector<double> values;
  for (const std::size_t at : grouping.group_of) values.push_back(of_group[at]);
  return values;
}

// (x - mean)^2 / (n - correction)
std::vector<double> variance_terms(const Grouping& grouping, const HostTensor& x,
                                   double correction) {
  std::vector<double> sum(grouping.groups, 0.0), count(grouping.groups, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum[grouping.group_of[i]] += x.real(i);
    count[grouping.group_of[i]] += 1;
  }
  return largest_of_groups(grouping, [&](std::size_t i) {
    const std::size_t at = grouping.group_of[i];
    const double deviation = x.real(i) - sum[at] / count[at];
    return deviation * deviation / std::max(count[at] - correction, 1.0);
  });
}

std::vector<double> magnitudes(const HostTensor& tensor) {
  std::vector<double> sizes;
  for (std::size_t i = 0; i < tensor.size(); ++i) sizes.push_back(std::fabs(tensor.real(i)));
  return sizes;
}

// A matrix operand with its batch axes aligned to those of the result.
struct Operand {
  const HostTensor& tensor;
  Extents shape;
  std::size_t batch_start(const Extents& batch_position) const {
    std::int64_t at = 0;
    const std::size_t axes = shape.size() - 2, lead = batch_position.size() - axes;
    for (std::size_t d = 0; d < axes; ++d)
      at = at * shape[d] + (shape[d] == 1 ? 0 : batch_position[lead + d]);
    return static_cast<std::size_t>(at * shape[axes] * shape[axes + 1]);
  }
};

std::vector<double> product_terms(const HostTensor& left, const HostTensor& right) {
  Operand a{left, left.shape}, b{right, right.shape};
  if (a.shape.size() == 1) a.shape.insert(a.shape.begin(), 1);
  if (b.shape.size() == 1) b.shape.push_back(1);
  Extents batch(std::max(a.shape.size(), b.shape.size()) - 2, 1);
  std::int64_t count = 1;
  for (const Operand* operand : {&a, &b})
    for (std::size_t d = 0; d + 2 < operand->shape.size(); ++d) {
      std::int64_t& extent = batch[batch.size() + 2 - operand->shape.size() + d];
      if (operand->shape[d] != 1) extent = operand->shape[d];
    }
  for (const std::int64_t extent : batch) count *= extent;
  const auto rows = static_cast<std::size_t>(a.shape[a.shape.size() - 2]);
  const auto inner = static_cast<std::size_t>(a.shape.back());
  const auto columns = static_cast<std::size_t>(b.shape.back());
  std::vector<double> largest;
  Extents position(batch.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t a_start = a.batch_start(position), b_start = b.batch_start(position);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column) {
        double best = 0;
        for (std::size_t k = 0; k < inner; ++k)
          best = std::max(best, std::fabs(left.real(a_start + row * inner + k) *
                                          right.real(b_start + k * columns + column)));
        largest.push_back(best);
      }
    for (std::size_t d = batch.size(); d-- > 0;) {
      if (++position[d] < batch[d]) break;
      position[d] = 0;
    }
  }
  return largest;
}

std::vector<double> reduction_terms(const Case& given, const HostTensor& x) {
  const std::string& op = given.op;
  const HostTensor& result = given.outputs[0];
  const Grouping grouping = group(x.shape, reduced_axes(given.attrs, x.shape.size()));
  const auto elements = [&](std::size_t i) { return x.real(i); };
  if (op == "sum" || op == "logsumexp") return largest_of_groups(grouping, elements);
  if (op == "cumsum" || op == "log_softmax")
    return spread(grouping, largest_of_groups(grouping, elements));
  if (op == "softmax")
    return spread(grouping,
                  largest_of_groups(grouping, [&](std::size_t i) { return result.real(i); }));
  if (op == "mean") {
    std::vector<double> terms = largest_of_groups(grouping, elements);
    const double count = static_cast<double>(x.size()) / static_cast<double>(grouping.groups);
    for (double& term : terms) term /= count;
    return terms;
  }
  std::vector<double> terms = variance_terms(grouping, x, given.attrs.value("correction", 1.0));
  if (op == "std")
    for (double& term : terms) term = std::sqrt(term);
  return terms;
}

}  // namespace

std::vector<double> largest_terms(const Case& given) {
  const std::string& op = given.op;
  const auto tensor = [&](std::size_t i) -> const HostTensor& {
    return std::get<HostTensor>(given.inputs.at(i));
  };
  for (const char* name :
       {"sum", "mean", "logsumexp", "cumsum", "softmax", "log_softmax", "var", "std"})
    if (op == name) return reduction_terms(given, tensor(0));
  if (op == "prod" || op == "cumprod") return magnitudes(given.outputs[0]);
  if (op == "matmul" || op == "dot") return product_terms(tensor(0), tensor(1));
  if (op == "scatter_add") {
    double largest = 0;
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}})
      for (const double size : magnitudes(tensor(i))) largest = std::max(largest, size);
    return std::vector<double>(given.outputs[0].size(), largest);
  }
  return {};
}

}  // namespace golden
