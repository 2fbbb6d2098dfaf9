// SIGINT, SIGTERM and SIGHUP (the terminal is closed) ask a run to save its state at the next step;
// a second SIGINT or SIGTERM ends the program at once. Signals that the caller has ignored stay
// ignored: SIGHUP under nohup, SIGINT for a script's background jobs.
#pragma once

namespace sfnn {

void catch_stop_signals();
bool stop_requested();

}  // namespace sfnn
