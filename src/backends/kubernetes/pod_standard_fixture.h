// Patches that weaken a pod, for the tests of the check and for the comparison with a real cluster.
#pragma once

#include <string>
#include <vector>

namespace nutshell::kubernetes {

// JSON of a pod that keeps the standard.
inline constexpr const char* kRestrictedPod = R"({
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
    "spec": {
      "automountServiceAccountToken": false, "enableServiceLinks": false, "restartPolicy": "Never",
      "nodeName": "no-such-node",
      "securityContext": {"runAsNonRoot": true, "runAsUser": 1000,
                          "seccompProfile": {"type": "RuntimeDefault"}},
      "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}],
      "containers": [{
        "name": "sandbox", "image": "localhost/busybox:1",
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]}}}]}})";

struct PodBreach {
  std::string pointer;     // the field that is set
  std::string value;       // JSON; empty: the field is removed
  std::string named;       // begins the message
  bool is_beyond = false;  // Kubernetes' own standard allows it
};

inline const std::vector<PodBreach>& pod_breaches() {
  static const std::string kContainer = "/spec/containers/0";
  static const std::string kContext = kContainer + "/securityContext";
  static const std::vector<PodBreach> kBreaches = {
      {"/spec/hostNetwork", "true", "spec.hostNetwork"},
      {"/spec/hostPID", "true", "spec.hostPID"},
      {"/spec/hostIPC", "true", "spec.hostIPC"},
      {"/spec/automountServiceAccountToken", "true", "spec.automountServiceAccountToken", true},
      {"/spec/automountServiceAccountToken", "", "spec.automountServiceAccountToken", true},
      {"/spec/enableServiceLinks", "true", "spec.enableServiceLinks", true},
      {"/spec/shareProcessNamespace", "true", "spec.shareProcessNamespace", true},
      {"/spec/volumes/0", R"({"name": "scratch", "hostPath": {"path": "/"}})", "spec.volumes[0]"},
      {"/spec/volumes/0", R"({"name": "scratch", "nfs": {"server": "a", "path": "/"}})",
       "spec.volumes[0]"},
      {"/spec/volumes/0",
       R"({"name": "scratch", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}})",
       "spec.volumes[0].projected", true},
      {"/spec/securityContext/runAsNonRoot", "false", "spec.securityContext.runAsNonRoot"},
      {"/spec/securityContext/runAsUser", "0", "spec.securityContext.runAsUser"},
      {"/spec/securityContext/seccompProfile", R"({"type": "Unconfined"})",
       "spec.securityContext.seccompProfile"},
      {"/spec/securityContext/seccompProfile", "",
       "spec.containers[0].securityContext.seccompProfile"},
      {"/spec/securityContext/sysctls", R"([{"name": "kernel.msgmax", "value": "1"}])",
       "spec.securityContext.sysctls"},
      {"/spec/securityContext/seLinuxOptions", R"({"type": "spc_t"})",
       "spec.securityContext.seLinuxOptions"},
      {"/spec/securityContext/seLinuxOptions", R"({"user": "system_u"})",
       "spec.securityContext.seLinuxOptions"},
      {"/spec/securityContext/appArmorProfile", R"({"type": "Unconfined"})",
       "spec.securityContext.appArmorProfile"},
      {kContext + "/privileged", "true", "spec.containers[0].securityContext.privileged"},
      {kContext + "/allowPrivilegeEscalation", "true",
       "spec.containers[0].securityContext.allowPrivilegeEscalation"},
      {kContext + "/allowPrivilegeEscalation", "",
       "spec.containers[0].securityContext.allowPrivilegeEscalation"},
      {kContext + "/readOnlyRootFilesystem", "false",
       "spec.containers[0].securityContext.readOnlyRootFilesystem", true},
      {kContext + "/procMount", R"("Unmasked")", "spec.containers[0].securityContext.procMount"},
      {kContext + "/capabilities", R"({"drop": ["NET_RAW"]})",
       "spec.containers[0].securityContext.capabilities.drop"},
      {kContext + "/capabilities", R"({"drop": ["ALL"], "add": ["SYS_ADMIN"]})",
       "spec.containers[0].securityContext.capabilities.add"},
      {kContext + "/capabilities", R"({"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]})",
       "spec.containers[0].securityContext.capabilities.add", true},
      {kContext + "/runAsUser", "0", "spec.containers[0].securityContext.runAsUser"},
      {kContext + "/runAsNonRoot", "false", "spec.containers[0].securityContext.runAsNonRoot"},
      {kContext + "/seccompProfile", R"({"type": "Unconfined"})",
       "spec.containers[0].securityContext.seccompProfile"},
      {kContainer + "/ports", R"([{"containerPort": 80, "hostPort": 80}])",
       "spec.containers[0].ports"},
      {kContainer + "/lifecycle", R"({"postStart": {"exec": {"command": ["true"]}}})",
       "spec.containers[0].lifecycle.postStart", true},
      {"/spec/initContainers", R"([{"name": "i", "image": "localhost/busybox:1"}])",
       "spec.initContainers[0].securityContext.allowPrivilegeEscalation"},
  };
  return kBreaches;
}

}  // namespace nutshell::kubernetes
