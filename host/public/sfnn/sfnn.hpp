// The library in one header: train such a network on your own numbers, measure it, draw from
// it, and leave files that the program `sfnn` reads. docs/library.md has a program.
//
// What is bad throws (error.hpp). Nothing is printed, and no signal is caught.
#pragma once

#include <sfnn/config.hpp>
#include <sfnn/data.hpp>
#include <sfnn/device.hpp>
#include <sfnn/error.hpp>
#include <sfnn/evaluate.hpp>
#include <sfnn/network.hpp>
#include <sfnn/progress.hpp>
#include <sfnn/report.hpp>
#include <sfnn/run.hpp>
#include <sfnn/study.hpp>
#include <sfnn/train.hpp>
#include <string>

namespace sfnn {

std::string library_version();  // "0.1.0"

}  // namespace sfnn
