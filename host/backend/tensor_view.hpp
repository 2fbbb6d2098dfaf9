// The views that the host passes about are the ones that the kernels take.
#pragma once

#include "kernels/views.hpp"
