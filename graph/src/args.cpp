// Arguments made from what callers write.
#include <weft/graph/args.h>

#include <weft/graph/detail/variable.h>
#include <weft/graph/tensor.h>

namespace weft {

TensorArg::TensorArg(const Tensor& tensor, Where at) noexcept : ref_(tensor.ref()), at_(at) {}

TensorArg::TensorArg(const Variable& variable, Where at) : at_(at) {
  // The slot's own handle keeps the node while the call lasts, unless another thread assigns:
  // assigning to a Variable that another thread is reading is the program's race.
  if (!variable.defined()) return;
  const std::lock_guard lock(variable.slot()->mutex);
  ref_ = variable.slot()->value.ref();
}

TensorList::TensorList(const Tensor& tensor, Where at) : at_(at) {
  args_.emplace_back(tensor, at);
}

TensorList::TensorList(const Variable& variable, Where at) : at_(at) {
  args_.emplace_back(variable, at);
}

TensorList::TensorList(std::initializer_list<TensorArg> tensors, Where at)
    : args_(tensors), at_(at) {}

TensorList::TensorList(const std::vector<Tensor>& tensors, Where at) : at_(at) {
  args_.reserve(tensors.size());
  for (const Tensor& tensor : tensors) args_.emplace_back(tensor, at);
}

TensorList::TensorList(const std::vector<Variable>& variables, Where at) : at_(at) {
  args_.reserve(variables.size());
  for (const Variable& variable : variables) args_.emplace_back(variable, at);
}

}  // namespace weft
