# shellcheck shell=bash
# shellcheck disable=SC2154  # which engine, and where it is: scripts/engine says it
# The dockerd of the engines docker, docker-new and runsc.

# gVisor takes /proc/sys/net/core/rmem_default as a sign of the host's network namespace, but newer kernels
# show it in every one. With --network=none gVisor does not check.
write_docker_config() {
  local runtimes='{}' program
  if [[ $engine == runsc ]]; then
    program=$(find_runsc)
    runtimes=$(printf '{"runsc":{"path":"%s","runtimeArgs":%s}}' "$program" \
      '["--network=none","--platform=systrap","--overlay2=none","--ignore-cgroups=false"]')
  fi
  printf '{"runtimes":%s}\n' "$runtimes" >"$here/config.json"
}

# Makes a certificate authority, and certificates of a server and a client.
make_certificates() {
  local tls=$here/tls name
  if [[ -e $tls/done ]]; then return 0; fi
  install -d -m 700 "$tls"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj /CN=nutshell-test -keyout "$tls/ca-key.pem" -out "$tls/ca.pem" 2>/dev/null
  for name in server client; do
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" \
      -keyout "$tls/$name-key.pem" -out "$tls/$name.csr" 2>/dev/null
    printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=%sAuth\n' "$name" |
      openssl x509 -req -in "$tls/$name.csr" -CA "$tls/ca.pem" -CAkey "$tls/ca-key.pem" \
        -CAcreateserial -days 3650 -extfile /dev/stdin -out "$tls/$name-cert.pem" 2>/dev/null
  done
  mv "$tls/client-cert.pem" "$tls/cert.pem"
  mv "$tls/client-key.pem" "$tls/key.pem"
  touch "$tls/done"
}

launch_docker() {
  local more=()
  write_docker_config
  if [[ $engine == docker ]]; then
    make_certificates || cannot "its certificates could not be made"
    more=(-H tcp://127.0.0.1:2376 --tlsverify --tlscacert "$here/tls/ca.pem"
      --tlscert "$here/tls/server-cert.pem" --tlskey "$here/tls/server-key.pem")
  fi
  launch dockerd -H "unix://$socket" "${more[@]}" --data-root "$here/data" --exec-root "$here/exec" \
    --pidfile "$here/docker.pid" --config-file "$here/config.json" --cgroup-parent "$cgroup" \
    --iptables=false --ip6tables=false --bridge=none --ip-forward=false
}
