#include <weft/weft.h>

#include <iostream>
#include <vector>

int main() {
  using namespace weft;
  Tensor x = tensor({1, 2, 3});
  Tensor y = x + x;
  std::cout << y << "\n";
  return y.to_vector<long>() == std::vector<long>{2, 4, 6} ? 0 : 1;
}
