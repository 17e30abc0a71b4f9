#include <cstdlib>
#include <nlohmann/json.hpp>

#include "backends/kubernetes/client/api_error.h"
#include "backends/kubernetes/client/yaml.h"
#include "backends/kubernetes/object_names.h"
#include "backends/kubernetes/pod_standard.h"
#include "backends/kubernetes/quantity.h"
#include "core/json_text.h"
#include "entry_points.h"

namespace nutshell::fuzz {
namespace {

void check_yaml(std::string_view text) {
  const auto read = kubernetes::parse_yaml(text);
  if (read && !parse_strict(dump_json(*read))) std::abort();  // it is JSON that others can read
}

void check_quantity(std::string_view text) {
  if (const auto bytes = kubernetes::parse_memory_quantity(text)) {
    if (kubernetes::parse_memory_quantity(kubernetes::memory_quantity(*bytes)) != *bytes)
      std::abort();
  }
  if (const auto millicpus = kubernetes::parse_cpu_quantity(text)) {
    if (kubernetes::parse_cpu_quantity(kubernetes::cpu_quantity(*millicpus)) != *millicpus)
      std::abort();
  }
}

void check_names(std::string_view id) {
  const std::string name = kubernetes::object_name(id);
  if (name.size() > 63 || !kubernetes::is_label_value(name)) std::abort();
  if (kubernetes::id_of(kubernetes::marks_of(id)) != std::string(id)) std::abort();
}

}  // namespace

// The first byte chooses the reader: y YAML, q a quantity, n an id, s an answer, p a pod.
void fuzz_kubernetes(std::string_view input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  switch (input.front()) {
    case 'y':
      return check_yaml(text);
    case 'q':
      return check_quantity(text);
    case 'n':
      return check_names(text);
    case 's':
      return (void)kubernetes::error_of(kubernetes::read_refusal(500, text, text));
    case 'p':
      if (const auto pod = parse_strict(text)) (void)kubernetes::breaches_of_standard(*pod);
      return;
    default:
      return;
  }
}

}  // namespace nutshell::fuzz
