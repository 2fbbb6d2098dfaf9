// SIGINT and SIGTERM ask a run to save its state at the next step; a second one ends the program at
// once.
#pragma once

namespace sfnn {

void catch_stop_signals();
bool stop_requested();

}  // namespace sfnn
