#include "host/data/faces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "host/base/error.hpp"
#include "host/data/split.hpp"
#include "host/formats/idx.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

struct Subject {
  std::vector<std::int32_t> rows;  // in the file
  std::vector<float> mean;         // [pixels], in [0, 1]
};

std::vector<float> mean_image(const Images& images, const std::vector<std::int32_t>& rows) {
  std::vector<std::int64_t> sum(images.size());
  for (const std::int64_t row : rows)
    for (std::int64_t i = 0; i < images.size(); ++i)
      sum[i] += images.pixels[row * images.size() + i];
  std::vector<float> mean(images.size());
  for (std::int64_t i = 0; i < images.size(); ++i)
    mean[i] = float(double(sum[i]) / (255.0 * double(rows.size())));
  return mean;
}

// Subjects with enough images, in the order of their numbers.
std::vector<Subject> gather_subjects(const Images& images, const std::vector<std::int32_t>& ids) {
  std::map<std::int32_t, Subject> by_id;
  for (std::int64_t row = 0; row < images.count; ++row)
    by_id[ids[row]].rows.push_back(std::int32_t(row));
  std::vector<Subject> subjects;
  for (auto& [id, subject] : by_id) {
    if (std::int64_t(subject.rows.size()) < kMinFacesOfSubject) continue;
    subject.mean = mean_image(images, subject.rows);
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

struct FaceRow {
  std::int32_t row, subject;
};

Examples face_examples(const Images& images, const std::vector<Subject>& subjects,
                       const std::vector<FaceRow>& faces) {
  std::vector<float> x;
  std::vector<std::uint8_t> y;
  for (const FaceRow& face : faces) {
    const std::vector<float>& mean = subjects[face.subject].mean;
    const auto image = images.pixels.begin() + face.row * images.size();
    x.insert(x.end(), mean.begin(), mean.end());
    y.insert(y.end(), image, image + images.size());
  }
  return {std::int64_t(faces.size()),
          {std::move(x), images.size(), 1},
          {std::move(y), images.size(), kGreyScale}};
}

// The images of the chosen subjects in the order of the file, the first `limit` of them.
std::vector<FaceRow> faces_of(const std::vector<Subject>& subjects,
                              std::span<const std::int32_t> chosen, std::int64_t limit) {
  std::vector<FaceRow> faces;
  for (const std::int32_t s : chosen)
    for (const std::int32_t row : subjects[s].rows) faces.push_back({row, s});
  std::sort(faces.begin(), faces.end(),
            [](const FaceRow& a, const FaceRow& b) { return a.row < b.row; });
  faces.resize(limited(std::int64_t(faces.size()), limit));
  return faces;
}

struct FaceSplit {
  std::vector<FaceRow> train, valid;
};

// Sets whole subjects aside, in the drawn order, until they have `count` faces.
FaceSplit set_aside(const std::vector<FaceRow>& faces, std::span<const std::int32_t> drawn,
                    std::int64_t count) {
  std::map<std::int32_t, std::int64_t> faces_of_subject;
  for (const FaceRow& face : faces) ++faces_of_subject[face.subject];
  std::set<std::int32_t> aside;
  for (const std::int32_t s : drawn) {
    if (count <= 0) break;
    aside.insert(s);
    count -= faces_of_subject[s];
  }
  FaceSplit split;
  for (const FaceRow& face : faces)
    (aside.contains(face.subject) ? split.valid : split.train).push_back(face);
  return split;
}

}  // namespace

DataSet load_faces(const DataOptions& options) {
  const fs::path folder = data_folder(options);
  const fs::path ids_path = find_idx(folder, {"subjects-idx1-ubyte", "subjects-idx1-int"});
  const Images images = read_images(find_idx(folder, {"images-idx3-ubyte"}));
  const std::vector<std::int32_t> ids = read_ids(ids_path, images.count);
  const std::vector<Subject> subjects = gather_subjects(images, ids);
  const auto subject_count = std::int64_t(subjects.size());
  if (options.test_subjects < 1 || options.test_subjects >= subject_count)
    throw ConfigError(fmt::format(
        "data.test_subjects = {}: {} has {} subjects with at least {} images, and both the test "
        "and training need some",
        options.test_subjects, options.set, subject_count, kMinFacesOfSubject));

  const auto order = permutation({options.seed, kTestPart, kSiteSplit}, subject_count);
  const std::span test_subjects(order.begin(), options.test_subjects);
  const std::span other_subjects(order.begin() + options.test_subjects, order.end());

  const auto others = faces_of(subjects, other_subjects, /*limit=*/0);
  auto [train, valid] = set_aside(others, other_subjects, options.valid);
  train.resize(limited(std::int64_t(train.size()), options.limit));
  if (train.empty())
    throw ConfigError(fmt::format("data.valid = {} leaves none of the {} faces to train on",
                                  options.valid, others.size()));

  DataSet data;
  data.name = options.set;
  data.train = face_examples(images, subjects, train);
  data.valid = face_examples(images, subjects, valid);
  data.test =
      face_examples(images, subjects, faces_of(subjects, test_subjects, options.test_limit));
  data.D_in = data.D_out = images.size();
  data.output = Output::gaussian;
  data.x_image = data.y_image = {images.height, images.width};
  return data;
}

}  // namespace sfnn
