# shellcheck shell=bash
# shellcheck disable=SC2154  # where everything is: scripts/cluster says it
# Starts the programs of the cluster, each in a session of its own with its log. Sourced by scripts/cluster.

# Prints the process id of a program that we started. Fails if the process is another one: the file may be old.
pid_of() {
  local pid
  pid=$(cat "$run/pids/$1" 2>/dev/null) || return 1
  [[ $({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null) == *"$run"* ]] || return 1
  echo "$pid"
}

# NAME COMMAND…
launch() {
  local name=$1
  shift
  if pid_of "$name" >/dev/null; then return 0; fi
  setsid "$@" >>"$logs/$name.log" 2>&1 </dev/null 9>&- &
  echo $! >"$run/pids/$name"
}

# SECONDS NAME COMMAND…: waits until the command succeeds.
await() {
  local end=$((SECONDS + $1)) name=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS > end)); then
      tail -n 5 "$logs/$name.log" >&2 || true
      say "$name does not work; its log is $logs/$name.log"
      exit 1
    fi
    sleep 0.1
  done
}

# containerd's own client. Each call is limited: a runtime that hangs would block it for ever.
containers() { timeout -k 1 60 ctr -a "$run/containerd.sock" -n k8s.io "$@"; }

make_bridge() {
  if ip link show "$bridge" >/dev/null 2>&1; then return 0; fi
  ip link add "$bridge" type bridge || cannot "no bridge can be made"
  ip addr add "$pods.1/24" dev "$bridge"
  ip link set "$bridge" up
}

write_network() {
  mkdir -p "$run/cni"
  cat >"$run/cni/10-bridge.conflist" <<JSON
{"cniVersion": "1.0.0", "name": "nutshell-test", "plugins": [
  {"type": "bridge", "bridge": "$bridge", "isGateway": true, "ipMasq": false,
   "ipam": {"type": "host-local", "dataDir": "$run/cni-addresses",
            "ranges": [[{"subnet": "$pods.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
JSON
  echo "nameserver 127.0.0.1" >"$run/resolv.conf" # instead of an empty file containerd copies the host's
}

# restrict_oom_score_adj: without CAP_SYS_RESOURCE runc may not give a pod a score below that of the host.
start_containerd() {
  cat >"$run/containerd.toml" <<TOML
version = 2
root = "$run/containerd/root"
state = "$run/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt",
  "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing"]
[grpc]
  address = "$run/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$run/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    SystemdCgroup = false
    Root = "$run/runc"
TOML
  launch containerd containerd --config "$run/containerd.toml" --log-level warn
}

start_etcd() {
  launch etcd "$cache/etcd" --name=test --data-dir="$run/etcd" --unsafe-no-fsync --logger=zap --log-level=warn \
    --listen-client-urls="http://127.0.0.1:$etcd_port" --advertise-client-urls="http://127.0.0.1:$etcd_port" \
    --listen-peer-urls="http://127.0.0.1:$((etcd_port + 1))" \
    --initial-advertise-peer-urls="http://127.0.0.1:$((etcd_port + 1))" \
    --initial-cluster="test=http://127.0.0.1:$((etcd_port + 1))"
}

# It may not advertise a loopback address, so it is told the bridge's; --endpoint-reconciler-type=none keeps it
# from publishing that.
start_api_server() {
  launch kube-apiserver "$cache/kube-apiserver" --etcd-servers="http://127.0.0.1:$etcd_port" \
    --bind-address=127.0.0.1 --secure-port="$api_port" --advertise-address="$pods.1" \
    --endpoint-reconciler-type=none --allow-privileged=true --authorization-mode=Node,RBAC \
    --tls-cert-file="$keys/apiserver.crt" --tls-private-key-file="$keys/apiserver.key" \
    --client-ca-file="$keys/ca.crt" --token-auth-file="$keys/tokens.csv" \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$keys/accounts.pub" \
    --service-account-signing-key-file="$keys/accounts.key" --service-cluster-ip-range=10.96.0.0/24 \
    --kubelet-certificate-authority="$keys/ca.crt" --kubelet-preferred-address-types=Hostname \
    --kubelet-client-certificate="$keys/apiserver-kubelet.crt" --kubelet-client-key="$keys/apiserver-kubelet.key"
}

start_controllers() {
  local -r access=(--kubeconfig="$run/kubeconfig" --authentication-kubeconfig="$run/kubeconfig"
    --authorization-kubeconfig="$run/kubeconfig" --bind-address=127.0.0.1 --leader-elect=false)
  launch kube-controller-manager "$cache/kube-controller-manager" "${access[@]}" \
    --secure-port=$((kubelet_port + 7)) --cert-dir="$run/controllers" \
    --service-account-private-key-file="$keys/accounts.key" --root-ca-file="$keys/ca.crt"
  launch kube-scheduler "$cache/kube-scheduler" "${access[@]}" \
    --secure-port=$((kubelet_port + 9)) --cert-dir="$run/scheduler"
}

# Pods are in a cgroup of their own, so that `stop` knows what is ours; with cgroup v1 one must exist in every
# hierarchy. Images are never collected: they cannot be pulled again.
start_kubelet() {
  local hierarchy
  for hierarchy in /sys/fs/cgroup/*/; do
    if [[ -e $hierarchy/cgroup.procs ]]; then mkdir -p "$hierarchy$cgroup"; fi
  done
  cat >"$run/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: $kubelet_port
healthzBindAddress: 127.0.0.1
healthzPort: $((kubelet_port + 2))
tlsCertFile: $keys/kubelet.crt
tlsPrivateKeyFile: $keys/kubelet.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: $keys/ca.crt}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://$run/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
podLogsDir: $run/pod-logs
volumePluginDir: $run/volume-plugins
resolvConf: $run/resolv.conf
clusterDNS: [127.0.0.1]
clusterDomain: cluster.local
podPidsLimit: 1024
maxOpenFiles: $(ulimit -Hn | sed 's/unlimited/1000000/')
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 64Mi, nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%",
  imagefs.inodesFree: "0%"}
YAML
  launch kubelet "$cache/kubelet" --config="$run/kubelet.yaml" --kubeconfig="$run/kubeconfig" \
    --root-dir="$run/kubelet" --hostname-override="$node" --node-ip="$pods.1"
}

start_daemons() {
  make_bridge
  write_network
  start_containerd
  start_etcd
  start_api_server
  await 60 containerd containers version
  import_images
  await 120 kube-apiserver kubectl get --raw /readyz
  start_controllers
  start_kubelet
  await 120 kubelet is_ready
  await 60 kube-controller-manager kubectl get serviceaccount default
}
