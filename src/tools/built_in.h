// The built-in tools. Each is a file beside this one and a line in registry.cc. In their help
// "@read" stands for the name that the caller's tool `read` has; the registry fills it in.
#pragma once

#include "core/tool.h"

namespace nutshell {

Tool make_read_tool();
Tool make_write_tool();
Tool make_edit_tool();
Tool make_ls_tool();
Tool make_grep_tool();
Tool make_find_tool();
Tool make_git_tool();
Tool make_diff_tool();
Tool make_delete_tool();
Tool make_bash_tool();
Tool make_job_tool();
Tool make_recall_tool();
Tool make_undo_tool();

}  // namespace nutshell
