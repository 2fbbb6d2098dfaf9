// data.jsonl of a run: what was found in its own files, one object per part.
#pragma once

#include <vector>

#include "host/data/dataset.hpp"
#include "host/run/run_directory.hpp"

namespace sfnn {

// Nothing is thrown for a file that is missing or was edited: what is not sound is looked up again.
std::vector<FileFacts> read_data_facts(const RunDirectory&);
void write_data_facts(const RunDirectory&, const DataSet&);
// Throws DataError if the rows of a part are not those that the run began with.
void require_same_data(const RunDirectory&, const DataSet&);

}  // namespace sfnn
