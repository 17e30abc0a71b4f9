# shellcheck shell=bash
# shellcheck disable=SC2154  # which engine, and where it is: scripts/engine says it
# The service of podman, root's and a plain user's.

readonly rootless_user=nutshell-engine

# What it may not raise, podman must not ask for.
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

# As a user logs in to do it: the user's own directories, and nothing of root's environment.
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

# Without an engine nobody ends what podman has started.
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

# Podman leaves one that holds the user's namespaces open and names no file of ours.
end_users_processes() {
  local pid
  for pid in $(pgrep -u "$rootless_user" 2>/dev/null); do
    if [[ $(readlink "/proc/$pid/ns/net") == "$1" ]]; then kill -KILL "$pid" || true; fi
  done
}
