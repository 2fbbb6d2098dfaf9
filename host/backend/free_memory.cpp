#include "host/backend/free_memory.hpp"

#include <fstream>
#include <limits>
#include <string>

namespace sfnn {

std::size_t free_host_memory() {
  std::ifstream in("/proc/meminfo");
  std::string key;
  for (std::size_t kilobytes = 0; in >> key >> kilobytes; in.ignore(80, '\n'))
    if (key == "MemAvailable:") return 1024 * kilobytes;
  return std::numeric_limits<std::size_t>::max();
}

}  // namespace sfnn
