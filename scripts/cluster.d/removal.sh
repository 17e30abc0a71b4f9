# shellcheck shell=bash
# shellcheck disable=SC2154  # where everything is: scripts/cluster says it
# Ends the cluster and removes all it made. Sourced by scripts/cluster.

# The kubelet and the network plugins make these at fixed places. Notes which are not there yet.
note_missing_directories() {
  local directory
  if [[ -e $run/made ]]; then return 0; fi
  for directory in /usr/libexec/kubernetes /var/lib/kubelet /var/lib/cni /var/log/containers /var/log/pods; do
    [[ -e $directory ]] || echo "$directory"
  done >"$run/made"
}

remove_made_directories() {
  local directory
  while read -r directory; do
    find "$directory" -xdev -depth \( -type s -o -type d -empty -o -path '*/cni/results/*' \) -delete 2>/dev/null || true
  done <"$run/made"
}

# NAME SIGNAL: kills after ten seconds a program that does not end.
end_program() {
  local pid tries=100
  if pid=$(pid_of "$1"); then
    kill "-$2" "$pid" 2>/dev/null || true
    while pid_of "$1" >/dev/null && ((tries-- > 0)); do sleep 0.1; done
    if pid_of "$1" >/dev/null; then kill -KILL "$pid" 2>/dev/null || true; fi
  fi
  rm -f "$run/pids/$1"
}

# Removes what Kubernetes left in containerd: pods of a kubelet that was killed, pods that would not end. Collects
# the files of their network namespaces in `networks`.
end_containers() {
  local id path
  networks=()
  pid_of containerd >/dev/null || return 0
  while read -r id; do
    path=$(containers containers info "$id" 2>/dev/null |
      jq -r '.Spec.linux.namespaces[]? | select(.type == "network") | .path // empty')
    if [[ $path == */netns/cni-* ]]; then networks+=("$path"); fi
    containers tasks kill -s KILL "$id" >/dev/null 2>&1 || true
    containers tasks rm -f "$id" >/dev/null 2>&1 || true
    containers containers rm "$id" >/dev/null 2>&1 || true
  done < <(containers containers ls -q 2>/dev/null)
}

# Containers are in our cgroup, and the command lines of containerd's shims have our paths.
kill_leftovers() {
  local directory words pid
  for directory in /proc/[0-9]*; do
    words=$({ tr '\0' ' ' <"$directory/cmdline"; } 2>/dev/null) || continue
    if [[ $words == *"$run/containerd"[./]* ]]; then kill -KILL "${directory#/proc/}" 2>/dev/null || true; fi
  done
  while read -r pid; do
    kill -KILL "$pid" 2>/dev/null || true
  done < <(find /sys/fs/cgroup -path "*/$cgroup/*" -name cgroup.procs -exec cat {} + 2>/dev/null)
}

remove_mounts() {
  local path
  for path in "${networks[@]}"; do
    umount "$path" 2>/dev/null || true
    rm -f "$path"
  done
  while read -r path; do
    umount -l "$path" || true
  done < <(awk -v below="$run/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r)
}

remove_cgroups() {
  local directory tries=20
  while ((tries-- > 0)); do
    directory=$(find /sys/fs/cgroup -maxdepth 2 -type d -name "$cgroup" 2>/dev/null)
    if [[ -z $directory ]]; then return 0; fi
    # shellcheck disable=SC2086  # several directories
    find $directory -depth -type d -exec rmdir {} + 2>/dev/null || true
    sleep 0.1
  done
}

stop() {
  local program
  if [[ ! -d $run ]]; then return 0; fi
  exec 9>"$place/lock"
  flock 9
  # Pods go first, through Kubernetes, so that their volumes and networks go with them.
  if pid_of kubelet >/dev/null && pid_of kube-apiserver >/dev/null; then
    seconds=40 kubectl delete pods -A --all --grace-period=1 --wait >/dev/null 2>&1 || true
  fi
  for program in kubelet kube-scheduler kube-controller-manager kube-apiserver etcd; do
    end_program "$program" KILL # its data is removed, so it needs no orderly end
  done
  end_containers
  end_program containerd TERM
  kill_leftovers
  sleep 0.2
  remove_mounts
  ip link del "$bridge" 2>/dev/null || true
  remove_cgroups
  find /var/log/containers -lname "$run/*" -delete 2>/dev/null || true
  remove_made_directories
  rm -rf --one-file-system "$run" "$logs"
  rm -f "$place/lock"
  rmdir --ignore-fail-on-non-empty "$place"
}
