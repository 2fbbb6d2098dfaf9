// The C++ side of fetch_test.py: `fetch_peer FROM TO NAME BYTES SHA256 ...` fetches these files as
// the set "small", from FROM or, if FROM is MIRROR,MIRROR, from the mirrors in this order.
#include <csignal>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>

#include "host/app/fetch.hpp"
#include "host/app/signals.hpp"

int main(int argc, char** argv) {
  if (argc < 6 || argc % 3 != 0) return 2;
  sfnn::PublicData data{"small", {}, {}};
  const std::string from = argv[1];
  std::istringstream list(from);
  for (std::string mirror; std::getline(list, mirror, ',');) data.mirrors.push_back(mirror);
  for (int i = 3; i < argc; i += 3)
    data.files.push_back({argv[i], std::stoull(argv[i + 1]), argv[i + 2]});
  sfnn::catch_stop_signals();
  try {
    const auto end =
        sfnn::fetch(data, {.from = data.mirrors.size() > 1 ? "" : from,
                           .to = argv[2],
                           .say = [](const std::string& line) { std::puts(line.c_str()); },
                           .stop = sfnn::stop_requested});
    return end == sfnn::Fetched::all ? 0 : 3;
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
