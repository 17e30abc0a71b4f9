# shellcheck shell=bash
# shellcheck disable=SC2154  # where everything is: scripts/cluster says it
# The cluster's authority, its certificates, and the administrator's token. Sourced by scripts/cluster.

readonly keys=$run/keys

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$keys/$1.key" 2>/dev/null; }

# Makes a certificate of our authority: NAME SUBJECT EXTENSIONS.
new_certificate() {
  new_key "$1"
  openssl req -new -key "$keys/$1.key" -subj "$2" -out "$keys/$1.csr" 2>/dev/null
  printf '%s\n' "$3" >"$keys/$1.ext"
  openssl x509 -req -in "$keys/$1.csr" -CA "$keys/ca.crt" -CAkey "$keys/ca.key" -CAcreateserial -days 3650 \
    -out "$keys/$1.crt" -extfile "$keys/$1.ext" 2>/dev/null
}

# Writes a kubeconfig for one user: FILE USER-FIELDS.
write_kubeconfig() {
  cat >"$1" <<YAML
apiVersion: v1
kind: Config
current-context: nutshell-test
clusters:
- name: nutshell-test
  cluster:
    server: https://127.0.0.1:$api_port
    certificate-authority: $keys/ca.crt
users:
- name: admin
  user: {$2}
contexts:
- name: nutshell-test
  context: {cluster: nutshell-test, user: admin}
YAML
  chmod 600 "$1"
}

make_keys() {
  if [[ -e $keys/complete ]]; then return 0; fi
  mkdir -p "$keys"
  chmod 700 "$keys"
  new_key ca
  openssl req -x509 -new -key "$keys/ca.key" -subj /CN=nutshell-test-ca -days 3650 -out "$keys/ca.crt" 2>/dev/null
  new_certificate apiserver /CN=kube-apiserver \
    "subjectAltName=IP:127.0.0.1,IP:10.96.0.1,IP:$pods.1,DNS:localhost,DNS:kubernetes.default.svc"
  new_certificate kubelet "/O=system:nodes/CN=system:node:$node" "subjectAltName=IP:127.0.0.1,DNS:localhost"
  new_certificate apiserver-kubelet /O=system:masters/CN=apiserver-kubelet "extendedKeyUsage=clientAuth"
  new_certificate admin /O=system:masters/CN=admin-by-certificate "extendedKeyUsage=clientAuth"
  openssl genrsa -out "$keys/accounts.key" 2048 2>/dev/null
  openssl rsa -in "$keys/accounts.key" -pubout -out "$keys/accounts.pub" 2>/dev/null
  local token
  token=$(openssl rand -hex 16)
  (umask 077 && printf '%s,admin,admin,"system:masters"\n' "$token" >"$keys/tokens.csv")
  write_kubeconfig "$run/kubeconfig" "token: $token"
  write_kubeconfig "$run/kubeconfig-certificate" \
    "client-certificate: $keys/admin.crt, client-key: $keys/admin.key"
  touch "$keys/complete"
}
