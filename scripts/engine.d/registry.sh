# shellcheck shell=bash
# shellcheck disable=SC2154  # which engine, and where it is: scripts/engine says it
# Two registries that engine docker reaches.

write_registry_config() {
  local account=''
  if [[ $1 == closed ]]; then
    account="auth: {htpasswd: {realm: nutshell, path: $here/registry/accounts}}"
  fi
  cat >"$here/registry/$1.yml" <<CONF
version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: $here/registry/data}, delete: {enabled: true}}
http: {addr: "127.0.0.1:$2"}
$account
CONF
}

registry() {
  local pid name port end=$((SECONDS + 10)) password=nut-and-shell
  pid=$(engine_pid) || cannot "the engine docker does not run"
  if ! registry_answers; then
    install_engine registry
    end_leftovers "$here/registry" # those of an engine that was restarted
    mkdir -p "$here/registry/data"
    # shellcheck disable=SC2016  # the salt of a hash
    printf 'nutshell:%s\n' "$(perl -e 'print crypt($ARGV[0], q($2y$05$abcdefghijklmnopqrstuu))' \
      "$password")" >"$here/registry/accounts"
    for name in open:5000 closed:5001; do
      port=${name#*:} name=${name%:*}
      write_registry_config "$name" "$port"
      nsenter -t "$pid" -n setsid docker-registry serve "$here/registry/$name.yml" \
        >"$here/registry/$name.log" 2>&1 </dev/null &
    done
    until registry_answers; do
      if ((SECONDS > end)); then cannot "no registry answers"; fi
      sleep 0.1
    done
  fi
  echo "127.0.0.1:5000 127.0.0.1:5001 nutshell:$password"
}

registry_answers() {
  nsenter -t "$(engine_pid)" -n python3 - <<'PYTHON' 2>/dev/null
import http.client, sys
for port, wanted in ((5000, 200), (5001, 401)):
    peer = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    peer.request("GET", "/v2/")
    if peer.getresponse().status != wanted:
        sys.exit(1)
PYTHON
}
