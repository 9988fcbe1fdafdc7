// Golden cases: what a line of the files holds, how it is read, and how it is run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <weft/weft.h>

namespace golden {

/// A tensor on the host. Floats of any width are held as doubles, which loses nothing; integers
/// and bools as 64-bit integers.
struct HostTensor {
  weft::DType dtype = weft::DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<double> reals;
  std::vector<std::int64_t> ints;

  bool is_real() const { return weft::is_floating(dtype); }
  std::size_t size() const { return is_real() ? reals.size() : ints.size(); }
  double real(std::size_t i) const { return is_real() ? reals[i] : static_cast<double>(ints[i]); }
  std::string text(std::size_t i) const;
};

/// A C++ scalar among the inputs.
using Scalar = std::variant<bool, std::int64_t, double>;
using Input = std::variant<HostTensor, Scalar>;
/// An input once it is on its device.
using Arg = std::variant<weft::Tensor, bool, std::int64_t, double>;
using Args = std::vector<Arg>;
using Tensors = std::vector<weft::Tensor>;
using Attrs = nlohmann::json;

struct Case {
  std::string id;  ///< file:line
  std::string op;
  std::vector<Input> inputs;
  Attrs attrs = Attrs::object();
  std::vector<HostTensor> outputs;
  bool has_gradient = false;
  HostTensor cotangent;
  std::vector<std::size_t> grad_of;
  std::vector<HostTensor> grads;
  std::string note;

  /// Its outputs are gradients of sums: the note of second_order says which.
  bool is_second_order() const { return note.find("d sum(g*g)/dx") != std::string::npos; }
};

weft::DType dtype_named(const std::string& name);
HostTensor parse_tensor(const nlohmann::json& json);
Case parse_case(const std::string& line, const std::string& id);
/// Every line of a .jsonl.gz file; throws std::runtime_error naming file and line.
std::vector<Case> load_cases(const std::filesystem::path& file);
/// WEFT_GOLDEN_DIR where set, else the files beside this one.
std::filesystem::path folder();
bool is_own_folder();

/// What an op of the files is in the public API. Arguments come as in the file; gradients are
/// taken by the runner.
using Op = std::function<Tensors(const Args&, const Attrs&)>;
using Registry = std::map<std::string, Op>;

/// Every op that is there today; the rest of the files is listed, not failed.
const Registry& registry();
void add_unary(Registry& ops);
void add_binary(Registry& ops);
void add_reductions(Registry& ops);
void add_shape(Registry& ops);
void add_nn(Registry& ops);
void add_optim(Registry& ops);

weft::Tensor to_tensor(const HostTensor& host);
/// Reads the value, which waits for it.
HostTensor to_host(const weft::Tensor& tensor);

/// Where the inputs live, where ops are recorded, and what computes the values.
struct Backend {
  std::string name;
  std::function<weft::Device(std::size_t input)> place;
  std::string scope;  ///< device of an On scope around the op; empty for none
  std::function<std::vector<HostTensor>(const Tensors&)> run;
};

/// "cpu", "interpreter", "sim"; UnsupportedError-free: a backend that this build lacks has no run.
Backend backend(const std::string& name);

struct Verdict {
  enum class Kind { passed, failed, not_there };
  Kind kind = Kind::passed;
  std::string message;  ///< of a failure
  std::string rule;     ///< the convention that replaced the file's value, where one did
};

/// Records the case's op on the backend and compares values and gradients.
Verdict run_case(const Case& given, const Backend& backend, const Registry& ops);

/// Replaces outputs that contradict the conventions by what those say; gives the convention, or
/// nothing where the file stands.
std::string apply_conventions(Case& given);

}  // namespace golden
