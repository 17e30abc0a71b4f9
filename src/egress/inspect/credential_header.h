// Where a request carries credentials. A value is put in nowhere else, because a sandbox chooses
// its headers: in one that servers repeat, or behind a text that cuts it, a value would come back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "egress/inspect/stream_replacer.h"
#include "http/message.h"

namespace nutshell::egress {

// Whether the field is one for credentials, as "Authorization" and "X-Api-Key" are.
bool carries_credentials(std::string_view name);

// The header's value with `replacements` made, if it has the form of credentials; else nullopt.
std::optional<std::string> fill_credentials(const http::Header& header,
                                            const std::vector<Replacement>& replacements);

// The credentials of "Basic", decoded; nullopt for any other value.
std::optional<std::string> basic_credentials(std::string_view value);

}  // namespace nutshell::egress
