// Init reads, writes and walks the files of the sandbox itself: an untrusted path can lead only
// into the sandbox, because init sees nothing else.
#pragma once

#include <memory>

#include "base/unique_fd.h"
#include "init/conversation/conversation.h"

namespace nutshell::init {

// Answers ReadFile for an open file: sends `info`, then the bytes.
std::unique_ptr<Conversation> open_read(std::uint32_t number, const wire::ReadFile& request,
                                        UniqueFd file, wire::FileInfo info);

// Answers ReadFile with the present state of the file; the path is absolute.
Result<std::unique_ptr<Conversation>> open_read_now(std::uint32_t number,
                                                    const wire::ReadFile& request);

// Begins the conversation of the frame.
Result<std::unique_ptr<Conversation>> open_file_conversation(const wire::Frame& frame);

}  // namespace nutshell::init
