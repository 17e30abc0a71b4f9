# shellcheck shell=bash
# shellcheck disable=SC2154  # where everything is: scripts/cluster says it
# The programs of the cluster: Debian's packages, and Kubernetes and etcd built from Go's modules. Sourced by
# scripts/cluster.

install_packages() {
  local missing=() program
  for program in containerd:containerd runc:runc jq:jq ip:iproute2 openssl:openssl gcc:gcc busybox:busybox-static; do
    command -v "${program%%:*}" >/dev/null || missing+=("${program#*:}")
  done
  [[ -x /usr/lib/cni/bridge ]] || missing+=(containernetworking-plugins)
  if ((${#missing[@]} == 0)); then return 0; fi
  say "installing ${missing[*]}"
  if ! { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
    install --no-install-recommends "${missing[@]}"; } >"$place/apt.log" 2>&1 </dev/null; then
    tail -n 5 "$place/apt.log" >&2
    cannot "Debian's packages ${missing[*]} cannot be installed"
  fi
}

# Builds all programs as one that looks at the name by which it is called: one link instead of six, and a fifth
# of the disk.
build_programs() {
  local program whole=$cache/kubernetes-$version
  if [[ ! -x $whole ]]; then
    if [[ ${NUTSHELL_CLUSTER_BUILD:-yes} == no ]]; then cannot "$whole is not in the cache"; fi
    command -v go >/dev/null || cannot "building Kubernetes needs Go"
    say "building Kubernetes $version, which takes minutes; the log is $place/build.log"
    if ! (link_programs "$whole") >"$place/build.log" 2>&1 </dev/null; then
      tail -n 5 "$place/build.log" >&2
      cannot "Kubernetes $version cannot be built; the log is $place/build.log"
    fi
  fi
  for program in "${programs[@]}"; do
    ln -sfn "$(basename "$whole")" "$cache/$program"
  done
}

# The module's go.mod is that of Kubernetes, with the published v0.x modules in place of its own ./staging.
link_programs() {
  local whole=$1 source=$place/build module base=k8s.io/component-base/version
  set -e
  rm -rf "$source"
  mkdir -p "$source"
  cp "$parts/programs.go.in" "$source/main.go"
  cd "$source"
  module=$(cd / && go mod download -json "k8s.io/kubernetes@$version" | jq -r .GoMod)
  sed -e 's#^module .*#module programs#' \
    -e "s#^\(\t*k8s.io/[a-z0-9-]*\) => ./staging/.*#\1 => \1 v0.${version#v1.}#" "$module" >go.mod
  echo "require k8s.io/kubernetes $version" >>go.mod
  CGO_ENABLED=0 go build -mod=mod -buildvcs=false -trimpath -o "$whole.new" -ldflags="-s -w
    -X $base.gitVersion=$version -X $base.gitMajor=1 -X $base.gitMinor=$(cut -d. -f2 <<<"$version")
    -X $base.gitTreeState=clean -X $base.gitCommit=none -X $base.buildDate=1970-01-01T00:00:00Z" .
  mv "$whole.new" "$whole"
  rm -rf "$source"
}
