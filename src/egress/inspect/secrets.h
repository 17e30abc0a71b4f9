// Secrets by reference: the sandbox holds placeholders, and requests to the secrets' own hosts get
// the values on their way out, in fields for credentials. Answers get the placeholders back, those
// of other hosts too.
//
// Limits: an answer that holds a value in a form that is not known here (encrypted, in pieces)
// shows it to the sandbox, and so do the frames of a WebSocket. Whoever may use a secret may do all
// that it permits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "egress/inspect/answer_filter.h"
#include "egress/inspect/gate_request.h"
#include "egress/inspect/secret.h"
#include "egress/inspect/stream_replacer.h"

namespace nutshell::egress {

// Letters, digits and underscores only, so that it is the same in headers, URLs and JSON.
std::string new_placeholder(std::string_view name);

// Refuses values that cannot stand in a header, and those so short that replacing them in answers
// would garble the answers.
Result<> check_secret_value(const std::string& name, const std::string& value);

// The secrets' part in one request.
class SecretUse : public AnswerFilter {
 public:
  // Puts values in the place of placeholders in the headers and the query of `request`, if it goes
  // by TLS to a host of theirs.
  SecretUse(const std::vector<Secret>& secrets, GateRequest& request);

  // Whether the answer is filtered: there are secrets.
  [[nodiscard]] bool filters_answer() const { return !to_placeholders_.empty(); }
  // Whether the request goes to a host of a secret, so that no answer is given without the filter.
  [[nodiscard]] bool goes_to_their_host() const { return goes_to_their_host_; }
  // Whether the body of the request has to be changed.
  [[nodiscard]] bool changes_body() const { return !body_.empty(); }
  [[nodiscard]] const std::vector<Replacement>& body() const { return body_; }
  // Names of the secrets that were put in, and those whose placeholder goes to a foreign host.
  [[nodiscard]] const std::vector<std::string>& used() const { return used_; }
  [[nodiscard]] const std::vector<std::string>& misplaced() const { return misplaced_; }
  // Names of header fields whose placeholders stayed, because they are not for credentials.
  [[nodiscard]] const std::vector<std::string>& unfit_headers() const { return unfit_headers_; }

  Result<> take_head(http::ResponseHead& head, std::string& reason) override;
  [[nodiscard]] bool changes_length() const override { return true; }
  std::string take_part(std::string_view bytes) override;
  std::string take_end() override;

 private:
  void put_in_headers(const std::vector<Secret>& secrets, GateRequest& request);
  void put_in_query(const std::vector<Secret>& secrets, GateRequest& request);
  void note_use(const std::vector<std::string>& names);
  void put_in_body(const std::vector<Secret>& secrets, const GateRequest& request);

  std::vector<Replacement> to_placeholders_;
  std::vector<Replacement> body_;
  std::vector<std::string> used_;
  std::vector<std::string> misplaced_;
  std::vector<std::string> unfit_headers_;
  bool goes_to_their_host_ = false;
  std::optional<StreamReplacer> answer_;
};

}  // namespace nutshell::egress
