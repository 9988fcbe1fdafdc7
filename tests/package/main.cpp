#include <weft/custom.h>
#include <weft/weft.h>

#include <iostream>
#include <vector>

using namespace weft;

WEFT_ELEMENTWISE(softsign, (x), x / (T(1) + abs(x)), (g / square(1 + abs(x))));
WEFT_ELEMENTWISE(multiply_add, (a, x, b), a* x + b, (), .rule = DTypeRule::numeric);

int main() {
  Tensor x = tensor({1, 2, 3});
  Tensor y = x + x;
  std::cout << y << "\n";
  const bool sums = y.to_vector<long>() == std::vector<long>{2, 4, 6};
  const bool own = softsign(y).to_vector<float>()[0] == 2.0f / 3.0f;
  // Contracted, by this program's own flags, it would not be 0.
  const Tensor near = tensor({1.0f + 0x1p-20f});
  const bool rounded = multiply_add(near, near, -(1.0f + 0x1p-19f)).item<float>() == 0;
  return sums && own && rounded ? 0 : 1;
}
