// The one table of public data sets: mirrors and checksums.
#include "host/app/fetch.hpp"

namespace sfnn {
namespace {

constexpr std::uint64_t kImageHeader = 16, kLabelHeader = 8, kPixels = 28 * 28;
constexpr std::uint64_t kTrain = 60000, kTest = 10000;

// Both sets have the same four files.
std::vector<PublicFile> idx_files(const char* train_images, const char* train_labels,
                                  const char* test_images, const char* test_labels) {
  return {{"train-images-idx3-ubyte", kImageHeader + kTrain * kPixels, train_images},
          {"train-labels-idx1-ubyte", kLabelHeader + kTrain, train_labels},
          {"t10k-images-idx3-ubyte", kImageHeader + kTest * kPixels, test_images},
          {"t10k-labels-idx1-ubyte", kLabelHeader + kTest, test_labels}};
}

}  // namespace

const std::vector<PublicData>& public_data() {
  static const std::vector<PublicData> table{
      {"mnist",
       {"https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist"},
       idx_files("ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                 "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                 "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                 "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2")},
      {"fashion-mnist",
       {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion"},
       idx_files("c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                 "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                 "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                 "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34")}};
  return table;
}

}  // namespace sfnn
