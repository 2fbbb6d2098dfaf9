// Faces: <root>/<set>/ holds images-idx3-ubyte and, for each image, the number of its subject in
// subjects-idx1-ubyte (or subjects-idx1-int, for more than 256 subjects); each plain or as .gz.
#pragma once

#include "host/data/dataset.hpp"

namespace sfnn {

constexpr std::int64_t kMinFacesOfSubject = 10;  // subjects with fewer images are left out

// Each image of a subject from the mean of all its images, pixels in [0, 1]. Test and validation
// hold whole subjects, drawn by data.seed, so that no test face was seen in training:
// data.test_subjects of them for the test, and for validation the fewest that have data.valid
// images.
DataSet load_faces(const DataOptions&);

}  // namespace sfnn
