#include "backends/kubernetes/pod_standard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/json_members.h"

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;

const Json& child(const Json& object, const char* name) {
  static const Json kNothing;
  const Json* found = member(object, name);
  return found == nullptr ? kNothing : *found;
}

bool is_listed(const Json& value, std::initializer_list<const char*> listed) {
  return std::any_of(listed.begin(), listed.end(), [&](const char* one) { return value == one; });
}

class Check {
 public:
  std::vector<std::string> breaches(const Json& pod) {
    const Json& spec = child(pod, "spec");
    check_shared(spec);
    check_volumes(child(spec, "volumes"));
    const Json& own = child(spec, "securityContext");
    check_identity("spec.securityContext", own);
    if (own.is_object() && !child(own, "sysctls").empty())
      add("spec.securityContext.sysctls", "it changes settings of the kernel");
    std::size_t containers = 0;
    for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
      const Json& all = child(spec, list);
      if (!all.is_array()) continue;
      for (std::size_t i = 0; i < all.size(); ++i)
        check_container(fmt::format("spec.{}[{}]", list, i), all[i], own);
      containers += all.size();
    }
    if (containers == 0) add("spec.containers", "there is none");
    if (!child(spec, "ephemeralContainers").empty())
      add("spec.ephemeralContainers", "somebody else's program would run in the sandbox");
    return std::move(found_);
  }

 private:
  void add(std::string_view field, std::string_view reason) {
    found_.push_back(fmt::format("{}: {}", field, reason));
  }

  void check_shared(const Json& spec) {
    if (child(spec, "hostNetwork") == true)
      add("spec.hostNetwork", "the pod shares the node's network");
    if (child(spec, "hostPID") == true) add("spec.hostPID", "the pod sees the node's processes");
    if (child(spec, "hostIPC") == true)
      add("spec.hostIPC", "the pod shares the node's memory segments");
    // Beyond the standard: a token opens the cluster's API to commands in the sandbox.
    if (child(spec, "automountServiceAccountToken") != false)
      add("spec.automountServiceAccountToken",
          "it must be false: a token of the cluster is mounted");
    // Kubernetes takes a list of addresses into /etc/hosts, and variables for every service.
    if (child(spec, "enableServiceLinks") == true)
      add("spec.enableServiceLinks", "the environment would name the services of the namespace");
    if (child(spec, "shareProcessNamespace") == true)
      add("spec.shareProcessNamespace", "commands would see the processes of other containers");
  }

  // A projected volume can hold a token of the service account.
  void check_volumes(const Json& volumes) {
    if (!volumes.is_array()) return;
    constexpr std::array<std::string_view, 7> kSources = {
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
        "secret"};
    for (std::size_t i = 0; i < volumes.size(); ++i) {
      const std::string field = fmt::format("spec.volumes[{}]", i);
      if (!volumes[i].is_object()) {
        add(field, "it is no volume");
        continue;
      }
      for (const auto& [key, value] : volumes[i].items()) {
        if (key == "name") continue;
        if (key == "projected") {
          check_projected(field, value);
        } else if (std::find(kSources.begin(), kSources.end(), key) == kSources.end()) {
          add(field, fmt::format("{} leads out of the pod", key));
        }
      }
    }
  }
  void check_projected(const std::string& field, const Json& projected) {
    const Json& sources = child(projected, "sources");
    if (!sources.is_array()) return;
    for (const Json& source : sources) {
      if (source.contains("serviceAccountToken"))
        add(field + ".projected", "a token of the cluster is mounted");
    }
  }

  // The fields that a pod and its containers both have.
  void check_identity(const std::string& field, const Json& context) {
    if (!context.is_object()) return;
    if (child(context, "runAsNonRoot") == false)
      add(field + ".runAsNonRoot", "commands may run as root");
    if (child(context, "runAsUser") == 0) add(field + ".runAsUser", "commands run as root");
    const Json& seccomp = child(context, "seccompProfile");
    if (seccomp.is_object() && !is_listed(child(seccomp, "type"), {"RuntimeDefault", "Localhost"}))
      add(field + ".seccompProfile", "system calls are not filtered");
    const Json& apparmor = child(context, "appArmorProfile");
    if (apparmor.is_object() &&
        !is_listed(child(apparmor, "type"), {"RuntimeDefault", "Localhost"}))
      add(field + ".appArmorProfile", "AppArmor is turned off");
    if (!child(context, "windowsOptions").is_null())
      add(field + ".windowsOptions", "sandboxes run on Linux");
    check_selinux(field, child(context, "seLinuxOptions"));
  }
  void check_selinux(const std::string& field, const Json& options) {
    if (!options.is_object()) return;
    const Json& type = child(options, "type");
    const bool is_usual =
        type.is_null() || is_listed(type, {"", "container_t", "container_init_t", "container_kvm_t",
                                           "container_engine_t"});
    const bool has_other = !child(options, "user").is_null() || !child(options, "role").is_null();
    if (!is_usual || has_other) add(field + ".seLinuxOptions", "SELinux would allow more");
  }

  void check_container(const std::string& at, const Json& container, const Json& pod_context) {
    const Json& context = child(container, "securityContext");
    const std::string field = at + ".securityContext";
    check_identity(field, context);
    if (child(context, "privileged") == true) add(field + ".privileged", "it isolates nothing");
    if (child(context, "allowPrivilegeEscalation") != false)
      add(field + ".allowPrivilegeEscalation",
          "it must be false: a set-uid program could become root");
    if (child(context, "readOnlyRootFilesystem") != true)
      add(field + ".readOnlyRootFilesystem",
          "it must be true: writes to the root file system have no limit");
    const Json& mount = child(context, "procMount");
    if (!mount.is_null() && mount != "Default")
      add(field + ".procMount", "/proc would show what is hidden from containers");
    check_capabilities(field, child(context, "capabilities"));
    const auto says = [&](const char* name) {
      const Json& inner = child(context, name);
      return inner.is_null() ? child(pod_context, name) : inner;
    };
    if (says("runAsNonRoot") != true)
      add(field + ".runAsNonRoot", "it must be true here or in spec.securityContext");
    if (says("seccompProfile").is_null())
      add(field + ".seccompProfile", "it must be set here or in spec.securityContext");
    check_surroundings(at, container);
  }

  void check_capabilities(const std::string& field, const Json& capabilities) {
    const Json& drop = child(capabilities, "drop");
    const bool drops_all =
        drop.is_array() && std::find(drop.begin(), drop.end(), "ALL") != drop.end();
    if (!drops_all) add(field + ".capabilities.drop", "it must be [ALL]");
    if (!child(capabilities, "add").empty())
      add(field + ".capabilities.add", "commands would have a capability");
  }

  void check_surroundings(const std::string& at, const Json& container) {
    const Json& ports = child(container, "ports");
    for (const Json& port : ports.is_array() ? ports : Json::array()) {
      const Json& number = child(port, "hostPort");
      if (!number.is_null() && number != 0) add(at + ".ports", "hostPort opens a port of the node");
    }
    for (const char* hook : {"postStart", "preStop"}) {
      if (!child(child(container, "lifecycle"), hook).is_null())
        add(fmt::format("{}.lifecycle.{}", at, hook), "init alone starts processes");
    }
    if (!child(container, "volumeDevices").empty())
      add(at + ".volumeDevices", "the container gets a raw device");
  }

  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> breaches_of_standard(const Json& pod) {
  return Check().breaches(pod);
}

}  // namespace nutshell::kubernetes
