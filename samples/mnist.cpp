// Trains a 784-256-10 network on handwritten digits, and shows the plan of a step.
//
//   mnist [--data DIR] [--plan-dir DIR] [--epochs N] [--batch N] [--lr RATE] [--device DEVICE]
//
// WEFT_SAMPLE_QUICK=1 in the environment: a few batches of one epoch.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

#include <weft/weft.h>

#include "expect.h"

using namespace weft;

namespace {

struct Options {
  std::filesystem::path data = "samples/data";
  std::optional<std::filesystem::path> plan_dir{};
  int epochs = 10;
  int batch = 64;
  double lr = 0.05;
  Device device = best_device();
  bool as_shipped = true;  // then the accuracy to reach is known
  bool quick = std::getenv("WEFT_SAMPLE_QUICK") != nullptr;
};

/// Nothing where an argument is unknown or has no sensible value.
std::optional<Options> parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string name = arguments[i];
    if (i + 1 == count) return std::nullopt;
    const std::string value = arguments[i + 1];
    if (name == "--data")
      options.data = value;
    else if (name == "--plan-dir")
      options.plan_dir = value;
    else if (name == "--epochs")
      options.epochs = std::atoi(value.c_str());
    else if (name == "--batch")
      options.batch = std::atoi(value.c_str());
    else if (name == "--lr")
      options.lr = std::atof(value.c_str());
    else if (name == "--device")
      options.device = Device(value);
    else
      return std::nullopt;
    if (name == "--epochs" || name == "--batch" || name == "--lr") options.as_shipped = false;
  }
  if (options.epochs < 1 || options.batch < 1 || options.lr <= 0) return std::nullopt;
  if (options.device.is_sim()) sim::enable(options.device.index() + 1);
  return options;
}

struct Net : nn::Module {
  nn::Linear hidden{784, 256}, out{256, 10};
  Net() {
    register_module("hidden", hidden);
    register_module("out", out);
  }
  Tensor forward(const Tensor& images) override {
    Tensor features;
    {
      const Scope name("hidden");
      features = relu(hidden(flatten(images, 1)));
    }
    const Scope name("out");
    return out(features);
  }
};

/// A bar that is drawn again and again on a terminal; elsewhere nothing until the epoch's line.
class Progress {
 public:
  Progress(int epoch, std::int64_t batches) : epoch_(epoch), batches_(batches) {}
  bool wants(std::int64_t done) const {
    return is_terminal_ && (done % std::max<std::int64_t>(1, batches_ / 40) == 0);
  }
  void draw(std::int64_t done, double loss, double rate) const {
    const auto filled = static_cast<std::size_t>(30 * done / batches_);
    std::printf("\repoch %2d [%s%s] %3d%%  loss %.4f  %7.0f examples/s", epoch_,
                std::string(filled, '=').c_str(), std::string(30 - filled, ' ').c_str(),
                static_cast<int>(100 * done / batches_), loss, rate);
    std::fflush(stdout);
  }
  void finish(double loss, double accuracy, double rate) const {
    if (is_terminal_) std::printf("\r\033[K");
    std::printf("epoch %2d  loss %.4f  test accuracy %.2f%%  %.0f examples/s\n", epoch_, loss,
                100 * accuracy, rate);
    std::fflush(stdout);
  }

 private:
  int epoch_;
  std::int64_t batches_;
  bool is_terminal_ = isatty(STDOUT_FILENO) == 1;
};

/// What the first step would run up to its gradients, before any of it has run.
void show_plan(const Tensor& loss, const Net& net, const Options& options) {
  std::vector<Tensor> roots{loss};
  for (const Variable& parameter : net.parameters()) roots.push_back(parameter.grad());
  const Plan plan = make_plan(roots);
  std::cout << "the plan of a step, forward and backward:\n" << plan << std::endl;
  if (!options.plan_dir) return;
  const std::filesystem::path file = *options.plan_dir / "plan.dot";
  std::ofstream out(file);
  write_dot(out, plan);
  out.close();
  expect(out.good(), "plan.dot is written");
  std::cout << "written: " << file.string() << std::endl;
}

double accuracy_of(Net& net, const data::Mnist& set, const Options& options) {
  const NoGrad off;
  Tensor correct = tensor(0, {.device = options.device});
  for (auto [images, labels] : data::Loader(set, {.batch = 500, .device = options.device}))
    correct += sum(argmax(net(images), 1) == labels);
  return correct.item<double>() / static_cast<double>(set.size());
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The mean loss of the epoch.
double train(Net& net, optim::SGD& optimizer, data::Loader& loader, int epoch,
             const Progress& progress, const Options& options, double& rate) {
  const auto start = std::chrono::steady_clock::now();
  Tensor total = tensor(0.0, {.device = options.device});
  std::int64_t batches = 0, examples = 0;
  for (auto [images, labels] : loader) {
    const Tensor loss = cross_entropy(net(images), labels);
    optimizer.zero_grad();
    loss.backward();
    if (epoch == 1 && batches == 0) show_plan(loss, net, options);
    optimizer.step();
    total += loss.detach();
    examples += images.size(0);
    if (++batches % 25 == 0 && options.quick) break;
    if (progress.wants(batches))
      progress.draw(batches, total.item<double>() / static_cast<double>(batches),
                    static_cast<double>(examples) / seconds_since(start));
  }
  const double loss = total.item<double>() / static_cast<double>(batches);
  rate = static_cast<double>(examples) / seconds_since(start);
  return loss;
}

void run(const Options& options) {
  const data::Mnist training = data::mnist(options.data);
  const data::Mnist test = data::mnist(options.data, {.train = false});
  manual_seed(1);
  Net net;
  net.to(options.device);
  eval(net.parameters());  // so that the plan of a step is of the step alone
  optim::SGD optimizer(net.parameters(), {.lr = options.lr, .momentum = 0.9});
  data::Loader loader(training,
                      {.batch = options.batch, .shuffle = true, .device = options.device});
  std::cout << training.size() << " digits to train on, " << test.size() << " to test on, on "
            << options.device << std::endl;
  double loss = 0, accuracy = 0, rate = 0;
  const int epochs = options.quick ? 1 : options.epochs;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const Progress progress(epoch, loader.size());
    loss = train(net, optimizer, loader, epoch, progress, options, rate);
    accuracy = accuracy_of(net, test, options);
    progress.finish(loss, accuracy, rate);
  }
  expect(std::isfinite(loss), "the loss stays finite");
  if (options.as_shipped && options.quick) expect(accuracy > 0.5, "a few batches teach something");
  if (options.as_shipped && !options.quick) expect(accuracy >= 0.94, "94 % of the test set");
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::optional<Options> options = parse(count, arguments);
    if (!options) {
      std::cerr << "usage: mnist [--data DIR] [--plan-dir DIR] [--epochs N] [--batch N] "
                   "[--lr RATE] [--device DEVICE]\n";
      return 2;
    }
    run(*options);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return outcome();
}
