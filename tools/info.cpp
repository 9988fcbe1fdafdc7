// The program `weft`: what weft finds on this machine.
#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include <weft/weft.h>

namespace {

void info(bool json) {
  const weft::SystemReport report = weft::system_report();
  if (json)
    weft::write_json(std::cout, report);
  else
    std::cout << report;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("weft: lazy tensors on CPU and GPU", "weft");
  app.set_version_flag("--version", WEFT_VERSION);
  app.require_subcommand(1);
  CLI::App& info_command = *app.add_subcommand(
      "info", "The driver, the compiler of kernels, libraries and GPUs: what is found, what was "
              "tried, and whether it works together");
  bool json = false;
  info_command.add_flag("--json", json, "As one JSON object");
  CLI11_PARSE(app, argc, argv);
  try {
    if (info_command) info(json);
  } catch (const std::exception& error) {
    std::cerr << "weft: " << error.what() << '\n';
    return 1;
  }
  return std::cout.flush() ? 0 : 1;
}
