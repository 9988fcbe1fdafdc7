// Training on every device that there is: the cpu, each GPU, and where there is none two simulated
// devices; then one model that is spread over all of them. The plan of a step says which values
// move, and how many bytes.
#include <cmath>
#include <iostream>
#include <vector>

#include <weft/weft.h>

#include "expect.h"

using namespace weft;

namespace {

constexpr std::int64_t batch = 256, features = 16, hidden = 32, classes = 4;

std::vector<Device> every_device() {
  std::vector<Device> devices{Device::cpu()};
  if (!cuda::is_available()) {
    sim::enable(2);
    devices.insert(devices.end(), {"sim:0", "sim:1"});
  }
  for (int i = 0; i < cuda::device_count(); ++i) devices.push_back(Device::cuda(i));
  return devices;
}

/// Points around one centre for each class; made on the cpu, the same in every run.
struct Points {
  Tensor x, labels;
  Points() {
    Generator random(3);
    const Tensor centres = randn({classes, features}, random) * 2;
    labels = randint(0, classes, {batch}, random);
    x = index_select(centres, 0, labels) + randn({batch, features}, random);
    eval(x, labels);
  }
};

struct Moves {
  std::size_t count = 0;
  std::int64_t bytes = 0;
};

/// The transfers of what these would run.
Moves print_moves(const TensorList& roots) {
  Moves moves;
  for (const Step& step : make_plan(roots).steps()) {
    if (step.kind != StepKind::transfer) continue;
    std::cout << "  moves " << step.shape << ", " << step.bytes << " bytes: " << step.reason
              << '\n';
    ++moves.count;
    moves.bytes += step.bytes;
  }
  if (moves.count == 0) std::cout << "  nothing moves\n";
  return moves;
}

/// Parts of a network, each on a device of its own; what flows between them is moved.
class Spread {
 public:
  explicit Spread(const std::vector<Device>& devices) {
    manual_seed(1);
    std::int64_t width = features;
    for (const Device device : devices) {
      parts_.push_back({device, nn::Sequential{nn::Linear(width, hidden), nn::ReLU()}});
      width = hidden;
    }
    parts_.push_back({devices.back(), nn::Sequential{nn::Linear(width, classes)}});
    for (Part& part : parts_) part.net.to(part.device);
  }
  Device last() const { return parts_.back().device; }
  Tensor operator()(Tensor x) {
    for (Part& part : parts_) x = part.net(x.to(part.device));
    return x;
  }
  std::vector<Variable> parameters() {
    std::vector<Variable> all;
    for (Part& part : parts_)
      for (const Variable& each : part.net.parameters()) all.push_back(each);
    return all;
  }

 private:
  struct Part {
    Device device;
    nn::Sequential net;
  };
  std::vector<Part> parts_;
};

struct Outcome {
  double first = 0, last = 0;
  Moves moves;
};

Outcome train(const std::vector<Device>& devices, const Points& points) {
  Spread net(devices);
  optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9});
  Outcome outcome;
  for (int step = 0; step < 40; ++step) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(net(points.x), points.labels.to(net.last()));
    if (step == 1) outcome.moves = print_moves({loss});
    loss.backward();
    optimizer.step();
    outcome.last = loss.item<double>();
    if (step == 0) outcome.first = outcome.last;
  }
  std::cout << "  loss " << outcome.first << " -> " << outcome.last << '\n';
  return outcome;
}

}  // namespace

int main() {
  const Points points;
  const std::vector<Device> devices = every_device();
  constexpr std::int64_t points_bytes = batch * features * 4, labels_bytes = batch * 8;
  Outcome on_cpu;
  for (const Device device : devices) {
    std::cout << "-- the whole model on " << device << '\n';
    const Outcome outcome = train({device}, points);
    if (device.is_cpu()) on_cpu = outcome;
    expect(outcome.last < 0.1 * outcome.first, "the model learns");
    expect(std::abs(outcome.last - on_cpu.last) <= 1e-3 * on_cpu.first,
           "and learns the same on every device");
    expect(outcome.moves.count == (device.is_cpu() ? 0u : 2u),
           "the points and the labels move once to a device, nothing moves on the cpu");
    if (!device.is_cpu())
      expect(outcome.moves.bytes >= points_bytes + labels_bytes, "and all of their bytes");
  }
  std::cout << "-- one layer on each of";
  for (const Device device : devices) std::cout << ' ' << device;
  std::cout << '\n';
  const Outcome spread = train(devices, points);
  expect(spread.last < 0.1 * spread.first, "a model that is spread learns too");
  expect(spread.moves.count == devices.size(),
         "what each layer gives moves to the next one's device, and the labels to the last");
  return outcome();
}
