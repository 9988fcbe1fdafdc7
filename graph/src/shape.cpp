// Shapes and axis lists.
#include <weft/graph/shape.h>

namespace weft {

void IntList::insert(int position, std::int64_t value, Where at) {
  push_back(value, at);
  for (int i = size_ - 1; i > position; --i) values_[i] = values_[i - 1];
  values_[position] = value;
}

void IntList::erase(int position) noexcept {
  for (int i = position; i + 1 < size_; ++i) values_[i] = values_[i + 1];
  --size_;
}

namespace {

template <class List>
std::string text_of(const List& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i) text += ',';
    text += std::to_string(list[i]);
  }
  return text + "]";
}

}  // namespace

std::string Shape::str() const { return text_of(*this); }
std::string Sizes::str() const { return text_of(*this); }

namespace detail {

void fail_rank(std::size_t rank, Where at) {
  fail<ShapeError>(at, "shape: " + std::to_string(rank) + " axes or more, and a tensor has at most " +
                           std::to_string(max_rank) + "; flatten some of them");
}

int wrap_axis(const char* op, std::int64_t axis, int rank, Where at) {
  // A 0-dim tensor accepts axis 0 and -1, as in PyTorch.
  const std::int64_t span = rank == 0 ? 1 : rank;
  if (axis < -span || axis >= span)
    fail<IndexError>(at, std::string(op) + ": axis " + std::to_string(axis) + " of a tensor with " +
                             std::to_string(rank) + " axes; give one from " +
                             std::to_string(-span) + " to " + std::to_string(span - 1));
  return static_cast<int>(axis < 0 ? axis + span : axis);
}

}  // namespace detail
}  // namespace weft
