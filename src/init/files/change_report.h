// Records a change in the journal, and describes it for the reply.
#pragma once

#include "init/files/files_state.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

// `why_not` is set if not everything could be kept; then nothing is recorded.
struct Made {
  std::string label;
  std::vector<PathChange> paths;
  std::string why_not;
};
wire::Changed report_change(FilesState& state, Made made);
// The same without the journal.
void list_changes(const FilesState& state, const std::vector<PathChange>& paths,
                  wire::Changed& changed);

Refusal refuse_stale(std::string_view shown, std::string_view expected, std::string_view now);

}  // namespace nutshell::init
