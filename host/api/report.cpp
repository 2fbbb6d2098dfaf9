#include <sfnn/report.hpp>

#include "host/api/impl.hpp"
#include "host/report/page_of_runs.hpp"
#include "host/run/pictures.hpp"

namespace sfnn {

std::string report_html(const Device& device, const std::vector<std::filesystem::path>& runs,
                        const ReportOptions& options) {
  return page_of_runs(backend_of(device), runs, options);
}

std::string report_json(const Device& device, const std::vector<std::filesystem::path>& runs,
                        const ReportOptions& options) {
  return json_of_runs(backend_of(device), runs, options);
}

std::string sample_png(const Network& network, const Data& data, const PictureOptions& options) {
  require_fit(network, data);
  return encode_png(sample_picture(network.impl().test_model(), data.impl()->set,
                                   network.impl().saved.config.train.seed, options));
}

}  // namespace sfnn
