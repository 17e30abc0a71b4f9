// A candidate for the final text, with what it leaves out.
#pragma once

#include <string>
#include <vector>

#include "compaction/facts.h"

namespace nutshell::compaction {

struct Draft {
  std::string text;
  std::string parser;
  std::vector<Omission> omitted;
};

}  // namespace nutshell::compaction
