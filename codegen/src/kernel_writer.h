// Puts a kernel's text and its parameter words together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <weft/codegen/kernel.h>

namespace weft::detail {

/// Most parameter words of a kernel: 4 KiB, what every architecture takes.
inline constexpr std::size_t most_param_words = 512;

/// Sixteen digits that tell texts apart.
std::string text_digest(std::string_view text);

class KernelWriter {
 public:
  using Kind = ParamWord::Kind;

  /// Expression of a new parameter word, an unsigned long long.
  std::string word(Kind kind, std::uint64_t value = 0) {
    params_.push_back({kind, value});
    return "p.w[" + std::to_string(params_.size() - 1) + "]";
  }
  std::string constant(std::int64_t value) {
    return word(Kind::constant, static_cast<std::uint64_t>(value));
  }

  /// A line of the body, indented by its braces.
  void line(std::string_view text);

  /// The kernel: its entry is named after the family and the body, and its block has `threads`
  /// threads along x. Throws InternalError for more words than most_param_words.
  KernelLaunch finish(std::string_view family, std::uint32_t threads) const;

 private:
  std::string body_;
  int depth_ = 1;
  std::vector<ParamWord> params_;
};

}  // namespace weft::detail
