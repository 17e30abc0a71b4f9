# shellcheck shell=bash
# shellcheck disable=SC2154  # which engine, and where it is: scripts/engine says it
# Runs podman's service, as root and as a plain user.

readonly rootless_user=nutshell-engine

# Lowers podman's default limits to what it may set on this machine.
launch_podman() {
  local files processes
  files=$(ulimit -Hn)
  processes=$(ulimit -Hu)
  if [[ $files == unlimited ]]; then files=1048576; fi
  if [[ $processes == unlimited ]]; then processes=4194304; fi
  cat >"$here/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=$files:$files", "nproc=$processes:$processes"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
  if [[ $engine == rootless ]]; then
    launch_rootless
    return 0
  fi
  mkdir -p "$here/tmp" # an archive that is imported stays where it was put
  TMPDIR=$here/tmp CONTAINERS_CONF=$here/containers.conf launch podman --root "$here/data" --runroot "$here/exec" \
    system service --time 0 "unix://$socket"
}

# Runs a command as the user does after a login: with the user's own directories and environment.
launch_rootless() {
  local user=$rootless_user
  if ! id "$user" >/dev/null 2>&1; then
    useradd --user-group --no-create-home --shell /usr/sbin/nologin "$user" ||
      cannot "the user $user cannot be added"
    touch "$here/made-user"
  fi
  grep -q "^$user:" /etc/subuid || cannot "the user $user has no subordinate ids"
  install -d -o "$user" -g "$user" -m 700 "$here"/{data,exec,home,run,socket}
  chmod 755 "$here" "$here/socket"
  launch setpriv --reuid "$user" --regid "$user" --init-groups --inh-caps=-all --reset-env \
    env HOME="$here/home" XDG_RUNTIME_DIR="$here/run" TMPDIR="$here/home" PATH="$PATH" \
    CONTAINERS_CONF="$here/containers.conf" \
    podman --root "$here/data" --runroot "$here/exec" --storage-driver overlay \
    system service --time 0 "unix://$socket"
}

# Podman's containers outlive its service, so they are ended here.
remove_containers() {
  python3 - "$socket" <<'PYTHON' 2>/dev/null
import http.client, json, socket, sys
class Engine(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(sys.argv[1])
def ask(method, path):
    engine = Engine("localhost")
    engine.request(method, "/v1.41" + path)
    return engine.getresponse().read()
for one in json.loads(ask("GET", "/containers/json?all=1")):
    ask("DELETE", f"/containers/{one['Id']}?force=1")
PYTHON
}

# Ends podman's pause process, which keeps the user's namespaces and names no file of ours.
end_users_processes() {
  local pid
  for pid in $(pgrep -u "$rootless_user" 2>/dev/null); do
    if [[ $(readlink "/proc/$pid/ns/net") == "$1" ]]; then kill -KILL "$pid" || true; fi
  done
}
