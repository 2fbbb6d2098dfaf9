// SIGINT, SIGTERM and SIGHUP (the terminal is closed) ask a run to save its state at the next step;
// a second SIGINT or SIGTERM ends the program at once. One that the caller has ignored stays
// ignored: SIGHUP under nohup, SIGINT in a script's background.
#pragma once

namespace sfnn {

void catch_stop_signals();
bool stop_requested();

}  // namespace sfnn
