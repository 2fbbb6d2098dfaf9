// What a bug report should say of the program and the machine.
#pragma once

#include <string>

namespace sfnn {

// One line each: version, build, system, processor and its instruction set, products, GPUs, driver.
std::string machine_text();

}  // namespace sfnn
