# shellcheck shell=bash
# shellcheck disable=SC2154  # which engine, and where it is: scripts/engine says it
# The image nutshell-test.

copy_with_libraries() {
  local file=$1 library
  install -D "$file" "$2/${file#/}"
  { ldd "$file" 2>/dev/null || true; } | { grep -oE '/[^ ]+' || true; } | while read -r library; do
    if [[ ! -e $2/$library ]]; then install -D "$library" "$2/$library"; fi
  done
}

make_image() {
  local root=$here/image program
  rm -rf "$root"
  mkdir -p "$root"/{bin,etc,tmp,usr/bin,usr/lib}
  cp "$(command -v busybox)" "$root/bin/busybox"
  for program in $("$root/bin/busybox" --list); do
    ln -s busybox "$root/bin/$program" 2>/dev/null || true
  done
  for program in bash git ipcmk; do
    if command -v "$program" >/dev/null; then
      copy_with_libraries "$(command -v "$program")" "$root"
    fi
  done
  ln -s /bin/busybox "$root/usr/bin/env"
  printf 'root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/tmp/home:/bin/sh\n' >"$root/etc/passwd"
  printf 'root:x:0:\nagent:x:1000:\n' >"$root/etc/group"
  tar -C "$root" --owner=0 --group=0 --numeric-owner -cf "$here/image.tar" .
  rm -rf "$root"
}

import_image() {
  if [[ -e $here/imported ]]; then return 0; fi
  make_image
  python3 - "$socket" "$here/image.tar" <<'PYTHON' || cannot "the test image could not be imported"
import http.client, os, socket, sys
class Engine(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(120)
        self.sock.connect(sys.argv[1])
engine = Engine("localhost")
with open(sys.argv[2], "rb") as archive:
    engine.request("POST", "/v1.41/images/create?fromSrc=-&repo=nutshell-test&tag=latest", archive,
                   {"Content-Type": "application/x-tar",
                    "Content-Length": str(os.path.getsize(sys.argv[2]))})
answer = engine.getresponse()
text = answer.read().decode()
sys.exit(0 if answer.status == 200 and '"error"' not in text else text)
PYTHON
  rm -f "$here/image.tar"
  touch "$here/imported"
}
