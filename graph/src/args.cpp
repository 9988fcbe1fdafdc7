// Arguments made from what callers write.
#include <weft/graph/args.h>

#include <new>
#include <span>
#include <utility>

#include <weft/graph/detail/variable.h>
#include <weft/graph/tensor.h>

namespace weft {

void detail::fail_wide_number(Where at) {
  fail<ValueError>(at, "an unsigned number of 2 to the 63 or more fits no dtype; give a smaller one, "
                       "or a decimal");
}

TensorArg::TensorArg(const Tensor& tensor, Where at) noexcept : ref_(tensor.ref()), at_(at) {}

TensorArg::TensorArg(Tensor&& tensor, Where at) noexcept
    : ref_(tensor.ref()), held_(detail::Hold::as_edge(std::move(tensor.handle_))), at_(at) {}

TensorArg::TensorArg(const Variable& variable, Where at) : at_(at) {
  if (!variable.defined()) return;
  const std::lock_guard lock(variable.slot()->mutex);
  ref_ = variable.slot()->value.ref();
  held_ = detail::Hold::as_handle(detail::Handle(ref_));
}

namespace {

template <class Range>
void list(std::vector<TensorArg>& args, const Range& tensors, Where at) try {
  args.reserve(std::size(tensors));
  for (const auto& tensor : tensors) args.emplace_back(tensor, at);
} catch (const std::bad_alloc&) {
  detail::fail_memory("a list of tensors", at);
}

}  // namespace

TensorList::TensorList(const Tensor& tensor, Where at) : at_(at) {
  list(args_, std::span(&tensor, 1), at);
}

TensorList::TensorList(const Variable& variable, Where at) : at_(at) {
  list(args_, std::span(&variable, 1), at);
}

TensorList::TensorList(std::initializer_list<TensorArg> tensors, Where at) try
    : args_(tensors), at_(at) {
} catch (const std::bad_alloc&) {
  detail::fail_memory("a list of tensors", at);
}

TensorList::TensorList(const std::vector<Tensor>& tensors, Where at) : at_(at) {
  list(args_, tensors, at);
}

TensorList::TensorList(const std::vector<Variable>& variables, Where at) : at_(at) {
  list(args_, variables, at);
}

}  // namespace weft
