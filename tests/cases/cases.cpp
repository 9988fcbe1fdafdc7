#include "cases/cases.h"

#include <cmath>
#include <sstream>

namespace weft::cases {

std::vector<int>& registered_cases() {
  static std::vector<int> numbers;
  return numbers;
}

Registration::Registration(int number) { registered_cases().push_back(number); }

std::vector<Device> accelerators() {
  sim::enable(2);
  std::vector<Device> devices = {Device::sim(0)};
  if (cuda::is_available()) devices.push_back(Device::cuda(0));
  return devices;
}

std::vector<Device> every_device() {
  std::vector<Device> devices = accelerators();
  devices.insert(devices.begin(), Device::cpu());
  return devices;
}

std::vector<std::pair<Device, Device>> device_pairs() {
  sim::enable(2);
  std::vector<std::pair<Device, Device>> pairs = {{Device::sim(0), Device::sim(1)}};
  if (cuda::device_count() > 1) pairs.emplace_back(Device::cuda(0), Device::cuda(1));
  return pairs;
}

Values values(const Tensor& x) { return x.to_vector<double>(); }

namespace {

std::string text_of(const Values& elements) {
  std::ostringstream text;
  text.precision(17);
  text << "[";
  for (std::size_t i = 0; i < elements.size(); ++i) text << (i ? ", " : "") << elements[i];
  text << "]";
  return text.str();
}

bool equals(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::string differs(const Tensor& x, DType dtype, const Shape& shape, const Values& expected,
                    Device device) {
  const Values got = values(x);
  bool same = x.dtype() == dtype && x.shape() == shape && x.device() == device &&
              got.size() == expected.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) same = equals(got[i], expected[i]);
  if (same) return {};
  return std::string(name_of(x.dtype())) + x.shape().str() + " on " + x.device().str() + " " +
         text_of(got) + ", not " + text_of(expected);
}

std::string far(const Tensor& x, const Values& expected, double tolerance) {
  const Values got = values(x);
  bool near = got.size() == expected.size();
  for (std::size_t i = 0; near && i < got.size(); ++i)
    near = equals(got[i], expected[i]) || std::abs(got[i] - expected[i]) <= tolerance;
  return near ? std::string() : text_of(got) + ", not " + text_of(expected);
}

}  // namespace weft::cases
