# shellcheck shell=bash
# shellcheck disable=SC2154  # which engine, and where it is: scripts/engine says it
# Gets the programs of the engines: packages of this Debian, of a newer one, and gVisor.

packages_of() {
  case $1 in
    docker | docker-new) echo docker.io iptables busybox-static openssl ;;
    registry) echo docker-registry ;;
    rootless) echo podman crun runc conmon catatonit busybox-static uidmap slirp4netns ;;
    podman) echo podman crun runc conmon catatonit busybox-static ;;
    runsc) echo docker.io iptables busybox-static ;;
  esac
}

apt() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" \
    </dev/null >>"$here/install.log" 2>&1
}

install_engine() {
  local package missing=()
  for package in $(packages_of "$1"); do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^.i' ||
      missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return 0; fi
  command -v apt-get >/dev/null || cannot "no apt-get to install ${missing[*]}"
  say "installing ${missing[*]}"
  # Keeps the packages from starting their own services.
  apt install --no-install-recommends "${missing[@]}" ||
    { apt update && apt install --no-install-recommends "${missing[@]}"; } ||
    cannot "installing ${missing[*]} failed; see $here/install.log"
}

# The dockerd, containerd and shim of a newer Debian run with this one's libraries. They are unpacked, not
# installed, and come from package lists of our own.
fetch_newer() {
  local sources=$here/apt/sources.list where package
  if [[ -e $here/newer/done ]]; then return 0; fi
  where=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d \
    2>/dev/null | grep -v security | head -n 1) || true
  [[ -n $where ]] || cannot "no address of a Debian archive is configured"
  mkdir -p "$here/apt/lists/partial" "$here/newer/debs"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${where%% *} sid main" >"$sources"
  local options=(-o "Dir::Etc::SourceList=$sources" -o Dir::Etc::SourceParts=-
    -o "Dir::State::Lists=$here/apt/lists" -o Acquire::Check-Valid-Until=false
    -o Acquire::Languages=none -o APT::Sandbox::User=root)
  apt "${options[@]}" update || cannot "no list of newer packages; see $here/install.log"
  (cd "$here/newer/debs" && apt "${options[@]}" download docker.io containerd) ||
    cannot "no newer packages; see $here/install.log"
  for package in "$here"/newer/debs/*.deb; do
    dpkg-deb -x "$package" "$here/newer"
  done
  touch "$here/newer/done"
}

# Prints the date of a gVisor release; 0 if there is none.
runsc_day() {
  { "$1" --version 2>/dev/null || true; } | { grep -oE '[0-9]{8}' || echo 0; } | head -n 1
}

# If the installed runsc is too old for the system calls of this Debian's programs, the one of Debian's
# backports is unpacked, not installed.
find_runsc() {
  local day=20230801 candidate
  for candidate in "${NUTSHELL_RUNSC:-}" "$(command -v runsc || true)" "$place/gvisor/usr/bin/runsc"; do
    if [[ -n $candidate ]] && (($(runsc_day "$candidate") >= day)); then
      echo "$candidate"
      return 0
    fi
  done
  fetch_runsc
  candidate=$place/gvisor/usr/bin/runsc
  (($(runsc_day "$candidate") >= day)) || cannot "no gVisor of $day or newer is to be had"
  echo "$candidate"
}

# Uses package lists and sources of its own, so that the machine's stay as they are.
fetch_runsc() {
  local work=$place/gvisor.apt mirror codename
  command -v apt-get >/dev/null || cannot "no apt-get to get gVisor with"
  mkdir -p "$place" 2>/dev/null || true
  [[ -w $place ]] || cannot "$place is not to be written to"
  mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{sources,list} 2>/dev/null || true; } |
    grep -v '^#' | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' ')
  # shellcheck disable=SC1091
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
  [[ -n $mirror ]] || cannot "no Debian mirror among apt's sources"
  rm -rf "$work"
  mkdir -p "$work"/{parts,lists/partial,archives/partial}
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $codename-backports main" \
    >"$work/sources.list"
  local options=(-q -o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=$work/parts"
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache::archives=$work/archives"
    -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root)
  say "fetching gVisor"
  (cd "$work" && apt-get "${options[@]}" update && apt-get "${options[@]}" download runsc) \
    </dev/null >"$work/log" 2>&1 || cannot "fetching gVisor failed; see $work/log"
  dpkg-deb -x "$work"/runsc_*.deb "$place/gvisor"
  rm -rf "$work"
}
