// A system report as text and as JSON.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <weft/graph/device.h>
#include <weft/runtime/system.h>

#include "compatibility.h"

namespace weft {
namespace {

constexpr int label_width = 12;

std::ostream& label(std::ostream& out, const std::string& text) {
  return out << text << std::string(text.size() < label_width ? label_width - text.size() : 1, ' ');
}

/// In the greatest unit that leaves 1 or more.
std::string size_text(std::uint64_t bytes) {
  constexpr std::array units{"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < units.size(); ++unit) size /= 1024;
  std::ostringstream text;
  text << std::fixed << std::setprecision(unit > 0 && size < 1000 ? 1 : 0) << size << ' '
       << units[unit];
  return text.str();
}

/// Lines after the first under the label's text.
std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') result.append(label_width, ' ');
  }
  return result;
}

void library_line(std::ostream& out, const std::string& name, const LibraryReport& library,
                  const std::string& more = "") {
  label(out, name);
  if (!library.is_usable())
    out << "not usable: " << indented(library.problem);
  else
    out << (library.version.empty() ? "version not known" : library.version) << more << ": "
        << library.path;
  out << '\n';
}

void gpu_line(std::ostream& out, const GpuReport& gpu) {
  label(out, "  " + Device::cuda(gpu.index).str())
      << (gpu.name.empty() ? "no name" : gpu.name) << ", " << size_text(gpu.total_bytes)
      << ", compute capability " << gpu.compute_capability / 10 << '.'
      << gpu.compute_capability % 10 << ", " << gpu.multiprocessors << " multiprocessors: "
      << (gpu.problem.empty() ? "usable" : "not usable: " + indented(gpu.problem)) << '\n';
}

/// Without the marks of code of a page of documentation.
std::string plain(std::string text) {
  std::erase(text, '`');
  return text;
}

void settings_lines(std::ostream& out, const std::vector<Setting>& settings) {
  std::size_t width = 0;
  for (const Setting& setting : settings) width = std::max(width, setting.name.size());
  const char* title = "settings";
  for (const Setting& setting : settings) {
    label(out, std::exchange(title, ""))
        << setting.name << std::string(width - setting.name.size() + 2, ' ');
    if (setting.value)
      out << "= " << *setting.value;
    else
      out << "not set" << (setting.fallback.empty() ? "" : ": ") << plain(setting.fallback);
    out << '\n';
  }
}

/// Bytes of the UTF-8 character that the text begins with; 0 where it begins with none (RFC 3629).
std::size_t character_size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t size = first < 0x80   ? 1
                           : first < 0xc2 ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool wrong = size > 2 && ((first == 0xe0 && byte(1) < 0xa0) ||   // too long a form
                                  (first == 0xed && byte(1) >= 0xa0) ||  // half of a pair
                                  (first == 0xf0 && byte(1) < 0x90) ||   // too long a form
                                  (first == 0xf4 && byte(1) >= 0x90));   // beyond the last
  return wrong ? 0 : size;
}

/// A JSON string. A byte of a path that is no UTF-8 becomes the replacement character.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t size = character_size(std::string_view(text).substr(at));
    at += std::max<std::size_t>(size, 1);
    if (size != 1) {
      result += size == 0 ? "\\ufffd" : text.substr(at - size, size);
      continue;
    }
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string library_json(const LibraryReport& library) {
  return "{\"usable\": " + std::string(library.is_usable() ? "true" : "false") +
         ", \"version\": " + quoted(library.version) + ", \"path\": " + quoted(library.path) +
         ", \"problem\": " + quoted(library.problem) + "}";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const SystemReport& report) {
  label(out, "weft") << report.weft_version << '\n';
  library_line(out, "driver", report.driver,
               ", CUDA " + detail::cuda_version_text(report.driver_cuda_version));
  library_line(out, "NVRTC", report.nvrtc);
  library_line(out, "cuBLASLt", report.cublaslt);
  const KernelFolderReport& folder = report.kernel_folder;
  label(out, "kernels");
  if (folder.problem.empty())
    out << folder.path << ": " << folder.kernels << " kept, " << size_text(folder.bytes) << " of "
        << size_text(folder.size_limit) << '\n';
  else
    out << "none are kept: " << (folder.path.empty() ? "" : folder.path + ": ")
        << indented(folder.problem) << '\n';
  label(out, "GPUs") << report.gpus.size();
  if (report.driver.is_usable() && !report.no_gpu_reason.empty())
    out << ": " << indented(report.no_gpu_reason);
  out << '\n';
  for (const GpuReport& gpu : report.gpus) gpu_line(out, gpu);
  label(out, "verdict") << indented(report.verdict) << '\n';
  settings_lines(out, report.settings);
  return out;
}

void write_json(std::ostream& out, const SystemReport& report) {
  const KernelFolderReport& folder = report.kernel_folder;
  out << "{\"weft_version\": " << quoted(report.weft_version)
      << ",\n \"driver\": " << library_json(report.driver)
      << ",\n \"driver_cuda_version\": " << report.driver_cuda_version
      << ",\n \"nvrtc\": " << library_json(report.nvrtc)
      << ",\n \"cublaslt\": " << library_json(report.cublaslt)
      << ",\n \"kernel_folder\": {\"usable\": " << (folder.problem.empty() ? "true" : "false")
      << ", \"path\": " << quoted(folder.path) << ", \"kernels\": " << folder.kernels
      << ", \"bytes\": " << folder.bytes << ", \"size_limit\": " << folder.size_limit
      << ", \"problem\": " << quoted(folder.problem) << "},\n \"gpus\": [";
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    const GpuReport& gpu = report.gpus[i];
    out << (i ? ",\n  " : "\n  ") << "{\"index\": " << gpu.index
        << ", \"name\": " << quoted(gpu.name) << ", \"total_bytes\": " << gpu.total_bytes
        << ", \"compute_capability\": " << gpu.compute_capability
        << ", \"multiprocessors\": " << gpu.multiprocessors
        << ", \"usable\": " << (gpu.problem.empty() ? "true" : "false")
        << ", \"problem\": " << quoted(gpu.problem) << "}";
  }
  out << "],\n \"no_gpu_reason\": " << quoted(report.no_gpu_reason)
      << ",\n \"verdict\": " << quoted(report.verdict) << ",\n \"settings\": {";
  for (std::size_t i = 0; i < report.settings.size(); ++i) {
    const Setting& setting = report.settings[i];
    out << (i ? ",\n  " : "\n  ") << quoted(setting.name) << ": "
        << (setting.value ? quoted(*setting.value) : "null");
  }
  out << "}}\n";
}

}  // namespace weft
