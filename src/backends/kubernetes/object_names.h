// Names and labels in the cluster for ids that callers choose. An id may be any text: long, in any
// script, in upper case. A name in Kubernetes holds 63 lower-case letters, digits and dashes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace nutshell::kubernetes {

using Texts = std::map<std::string, std::string>;

// The name begins with what can be read of the id and ends with a digest of it, so two ids never
// have the same name. It is a valid name of any object, also of a service:
// "nutshell-alices-notes-5f0c…".
std::string object_name(std::string_view id);

// The label by which an object of this id is found, and the annotations from which the id is read.
struct Marks {
  Texts labels;
  Texts annotations;
};
Marks marks_of(std::string_view id);
// For the API's parameter labelSelector; not escaped for a URL.
std::string selector_of(std::string_view id);
// Returns the id, whole and unchanged; nullopt unless the label is that of this id. So an
// annotation that was changed gives no other id.
std::optional<std::string> id_of(const Marks& marks);

// Whether Kubernetes takes this text as the value of a label; empty is one.
bool is_label_value(std::string_view text);
// Whether it takes the text as the name of a label or an annotation: "team" or "example.org/team".
bool is_label_name(std::string_view text);

}  // namespace nutshell::kubernetes
