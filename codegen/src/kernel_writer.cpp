// Puts a kernel's text and its parameter words together.
#include "kernel_writer.h"

#include <algorithm>
#include <cstdio>

#include <weft/graph/error.h>

namespace weft::detail {

std::string text_digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

void KernelWriter::line(std::string_view text) {
  if (text.starts_with('}')) --depth_;
  if (!text.starts_with('#')) body_.append(static_cast<std::size_t>(2 * depth_), ' ');
  body_.append(text).append("\n");
  if (text.ends_with('{')) ++depth_;
}

KernelLaunch KernelWriter::finish(std::string_view family, std::uint32_t threads) const {
  WEFT_ENSURE(params_.size() <= most_param_words && depth_ == 1);
  const std::size_t words = std::max<std::size_t>(params_.size(), 1);
  std::string text = device_library(body_);
  text += "struct Params {\n  unsigned long long w[" + std::to_string(words) + "];\n};\n";
  KernelLaunch launch;
  launch.block[0] = threads;
  launch.params = params_;
  launch.params.resize(words);
  const std::string bounds = std::to_string(threads);
  const std::string entry = "wf_" + std::string(family) + "_" + text_digest(bounds + body_);
  text += "extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + entry +
          "(const __grid_constant__ Params p) {\n" + body_ + "}\n";
  launch.source = std::make_shared<const KernelSource>(KernelSource{entry, std::move(text)});
  return launch;
}

}  // namespace weft::detail
