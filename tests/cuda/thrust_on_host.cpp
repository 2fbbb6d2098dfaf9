// Thrust's algorithms for the simulator, whose device memory the host can read.
#include "cuda/thrust_ops.cu"
