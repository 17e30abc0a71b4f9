// How to reach a cluster, and as whom: read from kubeconfig files, as kubectl reads them, or from
// the service account of the pod that we run in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace nutshell::kubernetes {

// The address of an API server; always https.
struct ServerAddress {
  std::string host;
  std::uint16_t port = 443;
  std::string prefix;  // of every path, such as "/k8s/clusters/c-1"; empty or with a slash in front
};
Result<ServerAddress> parse_server(std::string_view url);

// A program that prints credentials (client.authentication.k8s.io).
struct CredentialPlugin {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string api_version;
  std::string install_hint;
  bool wants_cluster = false;  // provideClusterInfo
};

struct Access {
  std::string context;  // its name, for messages; "in-cluster" without a kubeconfig
  ServerAddress server;
  std::string server_url;
  std::string server_name;  // that the server's certificate must have
  std::string authority;    // PEM; if empty, the system's authorities
  std::string name_space = "default";
  // At most one of the ways to say who we are; none is an anonymous user.
  std::string certificate;  // PEM
  std::string key;
  std::string token;
  std::filesystem::path token_file;  // is read again and again: the kubelet replaces it
  std::optional<CredentialPlugin> plugin;
};

// Reads a context of kubeconfig files; an empty name is the current one. If several files say the
// same thing, the first does. What we do not do is refused by name: skipping the check of
// certificates, proxies, passwords, impersonation.
Result<Access> read_kubeconfig(const std::vector<std::filesystem::path>& files,
                               const std::string& context);

// Reads what the kubelet mounts into every pod that has a service account.
struct InCluster {
  std::string host;  // KUBERNETES_SERVICE_HOST
  std::string port;  // KUBERNETES_SERVICE_PORT
  std::filesystem::path account = "/var/run/secrets/kubernetes.io/serviceaccount";
};
Result<Access> read_service_account(const InCluster& place);

// As kubectl finds it: $KUBECONFIG, else ~/.kube/config, else the service account.
Result<Access> find_access(const std::string& context);

}  // namespace nutshell::kubernetes
