# shellcheck shell=bash
# shellcheck disable=SC2154  # where everything is: scripts/cluster says it
# The images of the cluster, made from this machine's own files, because there may be no registry. Sourced by
# scripts/cluster. No tag is `latest`, which the kubelet would pull each time.

readonly images=(pause busybox)

build_images() {
  local image
  for image in "${images[@]}"; do
    [[ -e $cache/$image.tar ]] || "make_$image"
  done
}

# Writes DIRECTORY as an image of one layer with the name localhost/NAME:1 into the cache.
write_image() {
  local name=$1 directory=$2 command=$3 work digest
  work=$(mktemp -d "$place/image.XXXXXX")
  tar -C "$directory" --numeric-owner --owner=0 --group=0 --sort=name --mtime=@0 -cf "$work/layer.tar" .
  digest=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
  jq -n --arg digest "sha256:$digest" --argjson command "$command" '{architecture: "amd64", os: "linux",
    created: "1970-01-01T00:00:00Z", rootfs: {type: "layers", diff_ids: [$digest]},
    config: {Env: ["PATH=/usr/local/bin:/usr/bin:/bin"], Cmd: $command, WorkingDir: "/"},
    history: [{created: "1970-01-01T00:00:00Z"}]}' >"$work/config.json"
  jq -n --arg tag "localhost/$name:1" '[{Config: "config.json", RepoTags: [$tag], Layers: ["layer.tar"]}]' \
    >"$work/manifest.json"
  tar -C "$work" -cf "$cache/$name.tar.new" manifest.json config.json layer.tar
  mv "$cache/$name.tar.new" "$cache/$name.tar"
  rm -rf "$work"
}

# The program that keeps the namespaces of a pod.
make_pause() {
  local work
  work=$(mktemp -d "$place/image.XXXXXX")
  mkdir "$work/root"
  gcc -Os -static -s -o "$work/root/pause" "$parts/pause.c"
  write_image pause "$work/root" '["/pause"]'
  rm -rf "$work"
}

make_busybox() {
  local work name
  work=$(mktemp -d "$place/image.XXXXXX")
  mkdir -p "$work"/{bin,etc,tmp,root,dev,proc,sys,var,home,workspace}
  chmod 1777 "$work/tmp"
  cp "$(command -v busybox)" "$work/bin/busybox"
  for name in $(busybox --list); do
    [[ $name == busybox ]] || ln -s busybox "$work/bin/$name"
  done
  printf 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home:/bin/sh\n' >"$work/etc/passwd"
  printf 'root:x:0:\nuser:x:1000:\n' >"$work/etc/group"
  write_image busybox "$work" '["/bin/sh"]'
  rm -rf "$work"
}

import_images() {
  local image
  for image in "${images[@]}"; do
    containers images ls -q | grep -qx "localhost/$image:1" || containers images import "$cache/$image.tar" >/dev/null
  done
}
