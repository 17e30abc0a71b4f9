#include <cstdlib>

#include "egress/first_bytes.h"
#include "egress/inspect/gate_request.h"
#include "egress/inspect/stream_replacer.h"
#include "entry_points.h"

namespace nutshell::fuzz {
namespace {

using egress::GateRequest;

std::optional<GateRequest> read(std::string_view head) {
  http::RequestParser parser;
  GateRequest request;
  if (egress::read_request(head, {"http", 80}, parser, request)) return std::nullopt;
  return request;
}

// A head that is passed on means to the next reader what it meant here.
void pass_request(std::string_view input) {
  const std::size_t length = http::head_length(input);
  const auto request = read(input.substr(0, length == 0 ? input.size() : length));
  if (!request) return;
  const std::string written = egress::write_request(*request, request->content_length);
  if (http::head_length(written) != written.size()) std::abort();
  const auto again = read(written);
  if (!again) std::abort();
  const auto& was = request->named;
  const auto& is = again->named;
  const bool is_same = was.method == is.method && was.host == is.host && was.path == is.path &&
                       was.port == is.port && request->target == again->target &&
                       request->is_chunked == again->is_chunked &&
                       request->content_length == again->content_length &&
                       request->wants_websocket == again->wants_websocket;
  if (!is_same) std::abort();
}

void replace(std::string_view input) {
  const std::vector<egress::Replacement> replacements = {
      {"aab", "1"}, {"ab", "22"}, {"abcabd", ""}};
  const std::string whole = egress::replaced(input, replacements);
  egress::StreamReplacer replacer(replacements);
  std::string parts;
  for (std::size_t at = 0, size = 1; at < input.size(); at += size, size = size % 5 + 1)
    parts += replacer.take(input.substr(at, size));
  parts += replacer.end();
  if (parts != whole) std::abort();
}

}  // namespace

// The first byte chooses among the three.
void fuzz_egress(std::string_view input) {
  if (input.empty()) return;
  const unsigned choice = static_cast<unsigned char>(input[0]) % 3U;
  input.remove_prefix(1);
  if (choice == 0) return pass_request(input);
  if (choice == 1) return replace(input);
  (void)egress::read_first_bytes(input);
}

}  // namespace nutshell::fuzz
