// The isolation that every pod of ours has: Kubernetes' pod security standard "restricted", and
// what a sandbox needs beyond it. The check is made on the whole pod before it is sent, so that no
// patch of an administrator weakens a sandbox by accident, also in a namespace that enforces
// nothing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace nutshell::kubernetes {

// Names every field of a pod that breaks the standard, with the reason: "spec.hostNetwork: the pod
// shares the node's network". Empty: the pod keeps it.
std::vector<std::string> breaches_of_standard(const nlohmann::json& pod);

}  // namespace nutshell::kubernetes
