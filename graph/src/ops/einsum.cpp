// Einstein's sums: an equation is read, and its operands are contracted in pairs.
#include <algorithm>
#include <array>
#include <limits>

#include "composite.h"

namespace weft {
namespace detail {
namespace {

/// An axis by name: a letter's code, or `ellipsis` + how many axes of "..." come after it.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label ellipsis = 128;
constexpr std::size_t label_count = ellipsis + max_rank;

bool has(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string name_of_label(Label label) {
  if (label >= ellipsis) return "an axis of \"...\"";
  return std::string("\"") + static_cast<char>(label) + "\"";
}

/// A tensor and the names of its axes.
struct Term {
  Tensor value;
  Labels labels;
};

class Einsum {
 public:
  Einsum(std::string_view equation, const TensorList& tensors)
      : tensors_(tensors), at_(tensors.at()), equation_(equation) {
    text_ = equation_;
    text_.erase(std::remove(text_.begin(), text_.end(), ' '), text_.end());
    extents_.fill(1);
  }

  Tensor run() {
    read();
    // All that can be wrong is known here, and nothing is recorded yet.
    for (Term& term : terms_) term.value = cast({term.value, at_}, dtype_);
    for (Term& term : terms_) take_diagonals(term);
    for (Term& term : terms_) drop_broadcast(term);
    for (std::size_t k = 0; k < terms_.size(); ++k) sum_own(k);
    while (terms_.size() > 1) contract_cheapest();
    return arranged(terms_[0], output_);
  }

 private:
  template <class E>
  [[noreturn]] void wrong(const std::string& what, const std::string& remedy) const {
    fail<E>(at_, "einsum: \"" + equation_ + "\": " + what + "; " + remedy);
  }

  // ---- reading

  void read() {
    const std::size_t arrow = text_.find("->");
    const std::string inputs = text_.substr(0, arrow);
    std::vector<std::string> parts{""};
    for (const char c : inputs) {
      if (c == ',')
        parts.emplace_back();
      else
        parts.back() += c;
    }
    if (tensors_.size() == 0)
      wrong<ValueError>("there are no operands", "give a tensor for each list of letters");
    if (parts.size() != tensors_.size())
      wrong<ValueError>("it is of " + std::to_string(parts.size()) + " operands, " +
                            std::to_string(tensors_.size()) + " are given",
                        "separate their letters by commas");
    check_operands();
    std::array<int, label_count> uses{};
    for (std::size_t k = 0; k < parts.size(); ++k) {
      read_operand(k, parts[k]);
      for (const Label label : terms_.back().labels) ++uses[static_cast<std::size_t>(label)];
    }
    if (arrow == std::string::npos)
      imply_output(uses);
    else
      read_output(text_.substr(arrow + 2));
    if (output_.size() > max_rank)
      wrong<ShapeError>("the result has " + std::to_string(output_.size()) + " axes",
                        "tensors have up to " + std::to_string(max_rank));
  }

  void check_operands() {
    std::vector<Ref> refs;
    for (const TensorArg& x : tensors_.args()) {
      const DType dtype = spec_of(x, "einsum").dtype;
      if (dtype == DType::bool_)
        wrong<DTypeError>("bools have no product: " + describe(x.ref()), "cast them, as x.to(i32)");
      if (refs.empty()) dtype_ = dtype;
      if (!promote(dtype_, dtype, dtype_))
        wrong<DTypeError>("no dtype holds all operands: " + describe(x.ref()),
                          "cast one, as x.to(i32)");
      refs.push_back(x.ref());
    }
    common_device("einsum", refs, at_);
  }

  /// Letters before and after "...", if it is there.
  struct Subscripts {
    std::string before, after;
    bool has_ellipsis = false;
    std::size_t letters() const { return before.size() + after.size(); }
  };

  Subscripts subscripts_of(const std::string& part) const {
    Subscripts result;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (is_letter(part[i])) {
        (result.has_ellipsis ? result.after : result.before) += part[i];
      } else if (part.compare(i, 3, "...") == 0 && !result.has_ellipsis) {
        result.has_ellipsis = true;
        i += 2;
      } else {
        wrong<ValueError>(std::string("'") + part[i] + "' cannot be read here",
                          "name axes by letters, the others by one \"...\" for each operand");
      }
    }
    return result;
  }

  void read_operand(std::size_t k, const std::string& part) {
    const TensorArg& x = tensors_.args()[k];
    const Shape shape = spec_of(x, "einsum").shape;
    const Subscripts names = subscripts_of(part);
    const std::size_t letters = names.letters();
    if (names.has_ellipsis ? shape.size() < letters : shape.size() != letters)
      wrong<ShapeError>("\"" + part + "\" names " + std::to_string(letters) + " axes, operand " +
                            std::to_string(k) + " has " + std::to_string(shape.size()) + ": " +
                            describe(x.ref()),
                        "give a letter for each axis, or \"...\" for the others");
    Labels labels;
    for (const char c : names.before) labels.push_back(c);
    const int others = static_cast<int>(shape.size() - letters);
    for (int i = others; i-- > 0;) labels.push_back(ellipsis + i);
    for (const char c : names.after) labels.push_back(c);
    ellipsis_axes_ = std::max(ellipsis_axes_, others);
    for (std::size_t i = 0; i < labels.size(); ++i) set_extent(labels, shape, i, x);
    terms_.push_back({tensor_of(x), labels});
  }

  void set_extent(const Labels& labels, const Shape& shape, std::size_t i, const TensorArg& x) {
    const Label label = labels[i];
    for (std::size_t k = 0; k < i; ++k)
      if (labels[k] == label && shape[k] != shape[i])
        wrong<ShapeError>(name_of_label(label) + " is " + std::to_string(shape[k]) + " and " +
                              std::to_string(shape[i]) +
                              " long in one operand: " + describe(x.ref()),
                          "a diagonal is of axes of one extent");
    std::int64_t& extent = extents_[static_cast<std::size_t>(label)];
    if (shape[i] != 1 && extent != 1 && shape[i] != extent)
      wrong<ShapeError>(name_of_label(label) + " is " + std::to_string(extent) + " long, and " +
                            std::to_string(shape[i]) + " in " + describe(x.ref()),
                        "the axes of one letter have one extent, or 1");
    if (shape[i] != 1) extent = shape[i];
  }

  void read_output(const std::string& part) {
    const Subscripts names = subscripts_of(part);
    const auto name_one = [&](char c) {
      const bool is_known = std::any_of(terms_.begin(), terms_.end(),
                                        [c](const Term& term) { return has(term.labels, c); });
      if (!is_known || has(output_, c))
        wrong<ValueError>(name_of_label(c) + (is_known ? " is twice in the output"
                                                       : " is in the output and in no operand"),
                          "name axes of operands, each once");
      output_.push_back(c);
    };
    for (const char c : names.before) name_one(c);
    if (names.has_ellipsis)
      for (int i = ellipsis_axes_; i-- > 0;) output_.push_back(ellipsis + i);
    for (const char c : names.after) name_one(c);
  }

  void imply_output(const std::array<int, label_count>& uses) {
    for (int i = ellipsis_axes_; i-- > 0;) output_.push_back(ellipsis + i);
    for (Label label = 0; label < ellipsis; ++label)
      if (uses[static_cast<std::size_t>(label)] == 1) output_.push_back(label);
  }

  // ---- one operand

  void take_diagonals(Term& term) {
    for (std::size_t i = 0; i < term.labels.size(); ++i)
      for (std::size_t k = i + 1; k < term.labels.size(); ++k) {
        if (term.labels[i] != term.labels[k]) continue;
        const Label label = term.labels[i];
        term.value = diagonal({term.value, at_}, 0, static_cast<int>(i), static_cast<int>(k));
        term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(k));
        term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(i));
        term.labels.push_back(label);
        i = static_cast<std::size_t>(-1);
        break;
      }
  }

  /// An axis of extent 1 where the letter is longer elsewhere: there it is as good as not named.
  void drop_broadcast(Term& term) {
    const Shape shape = term.value.shape(at_);
    Labels labels;
    Dims kept(at_);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] != extents_[static_cast<std::size_t>(term.labels[i])]) continue;
      kept.push_back(shape[i]);
      labels.push_back(term.labels[i]);
    }
    term.value = reshape({term.value, at_}, kept);
    term.labels = labels;
  }

  bool is_needed_beside(Label label, std::size_t a, std::size_t b) const {
    if (has(output_, label)) return true;
    for (std::size_t k = 0; k < terms_.size(); ++k)
      if (k != a && k != b && has(terms_[k].labels, label)) return true;
    return false;
  }

  /// What this operand alone names, summed.
  void sum_own(std::size_t k) {
    Term& term = terms_[k];
    Labels labels;
    Dims summed(at_);
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      if (is_needed_beside(term.labels[i], k, k))
        labels.push_back(term.labels[i]);
      else
        summed.push_back(static_cast<std::int64_t>(i));
    }
    if (summed.empty()) return;
    const DType dtype = term.value.dtype(at_);
    term = {cast({sum({term.value, at_}, summed), at_}, dtype), labels};
  }

  // ---- pairs

  /// How the axes of two operands take part in their product.
  struct Pair {
    Labels batch, left, right, summed;
    Labels result() const {
      Labels all = batch;
      all.insert(all.end(), left.begin(), left.end());
      all.insert(all.end(), right.begin(), right.end());
      return all;
    }
  };

  Pair pair_of(std::size_t i, std::size_t k) const {
    const Labels &a = terms_[i].labels, &b = terms_[k].labels;
    Pair pair;
    for (const Label label : a) {
      if (!has(b, label))
        pair.left.push_back(label);
      else
        (is_needed_beside(label, i, k) ? pair.batch : pair.summed).push_back(label);
    }
    for (const Label label : b)
      if (!has(a, label)) pair.right.push_back(label);
    return pair;
  }

  double count_of(const Labels& labels) const {
    double count = 1;
    for (const Label label : labels)
      count *= static_cast<double>(extents_[static_cast<std::size_t>(label)]);
    return count;
  }

  /// The pair of the fewest multiplications, of equal ones that of the smallest result; one whose
  /// result has more axes than a tensor can have only where there is no other.
  void contract_cheapest() {
    std::size_t first = 0, second = 1;
    constexpr double most = std::numeric_limits<double>::infinity();
    std::array<double, 3> least{most, most, most};
    for (std::size_t i = 0; i < terms_.size(); ++i)
      for (std::size_t k = i + 1; k < terms_.size(); ++k) {
        const Pair pair = pair_of(i, k);
        const Labels result = pair.result();
        const double size = count_of(result);
        const std::array<double, 3> cost{result.size() > max_rank ? 1.0 : 0.0,
                                         size * count_of(pair.summed), size};
        if (!(cost < least)) continue;
        least = cost;
        first = i;
        second = k;
      }
    terms_[first] = contracted(terms_[first], terms_[second], pair_of(first, second));
    terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(second));
  }

  Term contracted(const Term& a, const Term& b, const Pair& pair) const {
    const Labels result = pair.result();
    if (result.size() > max_rank)
      wrong<ShapeError>("a product of two operands has " + std::to_string(result.size()) + " axes",
                        "contract some of the operands first");
    if (pair.summed.empty())
      return {mul({spread(a, result), at_}, {spread(b, result), at_}), result};
    const Tensor x = matrices(a, pair.batch, pair.left, pair.summed);
    const Tensor y = matrices(b, pair.batch, pair.summed, pair.right);
    return {reshape({matmul({x, at_}, {y, at_}), at_}, shape_of(result)), result};
  }

  /// Axes in this order, those it does not have with extent 1.
  Tensor spread(const Term& term, const Labels& order) const {
    Labels own;
    Dims shape(at_);
    for (const Label label : order) {
      const bool is_there = has(term.labels, label);
      if (is_there) own.push_back(label);
      shape.push_back(is_there ? extents_[static_cast<std::size_t>(label)] : 1);
    }
    return reshape({arranged(term, own), at_}, shape);
  }

  Tensor arranged(const Term& term, const Labels& order) const {
    Dims axes(at_);
    for (const Label label : order)
      axes.push_back(std::find(term.labels.begin(), term.labels.end(), label) -
                     term.labels.begin());
    return permute({term.value, at_}, axes);
  }

  Dims shape_of(const Labels& labels) const {
    Dims shape(at_);
    for (const Label label : labels) shape.push_back(extents_[static_cast<std::size_t>(label)]);
    return shape;
  }

  /// As matrices: batch axes, then two groups of axes, each as one.
  Tensor matrices(const Term& term, const Labels& batch, const Labels& rows,
                  const Labels& columns) const {
    Labels order = batch;
    order.insert(order.end(), rows.begin(), rows.end());
    order.insert(order.end(), columns.begin(), columns.end());
    const auto count = [this](const Labels& labels) { return Shape(shape_of(labels)).numel(); };
    // More batch axes than matrices can have beside their own become one.
    Dims shape(at_);
    if (batch.size() + 2 <= max_rank)
      shape = shape_of(batch);
    else
      shape.push_back(count(batch));
    shape.push_back(count(rows));
    shape.push_back(count(columns));
    return reshape({arranged(term, order), at_}, shape);
  }

  const TensorList& tensors_;
  Where at_;
  std::string equation_, text_;
  DType dtype_ = DType::f32;
  std::vector<Term> terms_;
  Labels output_;
  std::array<std::int64_t, label_count> extents_{};
  int ellipsis_axes_ = 0;
};

}  // namespace
}  // namespace detail

Tensor einsum(std::string_view equation, const TensorList& tensors) {
  const detail::Within within(detail::composite<"einsum">);
  return detail::Einsum(equation, tensors).run();
}

}  // namespace weft
