// A build without the CUDA backend says so, and works.
#ifdef WEFT_TESTS_WITHOUT_CUDA
#include <sstream>

#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("without cuda: there are no GPUs, and the reason is said", "[without-cuda]") {
  const auto reason = ContainsSubstring("this build of weft has no CUDA backend");
  CHECK_FALSE(cuda::is_available());
  CHECK(cuda::device_count() == 0);
  CHECK(best_device() == Device::cpu());
  CHECK(all_gpus() == std::vector<Device>{Device::cpu()});
  CHECK_THROWS_WITH(ones({1}, {.device = "cuda"}), reason);
  CHECK_THROWS_AS(tensor({1.0f}).cuda(), DeviceError);
  CHECK_THROWS_WITH(tensor({1.0f}).cuda(), reason);
  CHECK_THROWS_WITH(cuda::properties(0), reason);
  CHECK_THROWS_WITH(cuda::device_name(0), reason);
  std::ostringstream text;
  text << system_report();
  CHECK_THAT(text.str(), reason);
  CHECK((tensor({1.0f}) + 1.0f).item<float>() == 2);
}
#endif
