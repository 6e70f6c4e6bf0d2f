# shellcheck shell=bash
# Installs packages of another Debian suite into a directory of their own,
# without root and without a change to the system. It is sourced, after
# common.sh.
#
# The system's apt does the work (it resolves the dependencies, fetches, and
# verifies signatures and checksums), but with its own state, lists, cache and
# an empty status file: so it believes that nothing is installed, and fetches
# everything down to the C library, which lets the programs run on an older
# system. Packages are only unpacked; none of their scripts run.
#
# The mirror, the keys and the network settings (proxies, certificates) are
# the ones the system's apt already uses.

need_debian_tools() {
    local tool
    for tool in apt-get apt-cache apt-config dpkg dpkg-deb; do
        command -v "$tool" >/dev/null 2>&1 ||
            die 3 "this needs apt and dpkg, and '$tool' is not on this machine: run these tests on Debian, or without this program."
    done
    need awk sed sort sha256sum
}

# The base addresses of the Debian archive the system uses, best first. apt is
# asked rather than the files read, because sources come in two formats.
debian_mirrors() {
    apt-get update --print-uris 2>/dev/null |
        sed -n "s|^'\(.*\)/dists/.*/InRelease' .*|\1|p" |
        awk '!/security/ && !seen[$0]++ { print (($0 ~ /\/debian$/) ? 0 : 1), NR, $0 }' |
        sort -k1,1n -k2,2n | cut -d' ' -f3-
}

# The keyrings for a mirror, separated by commas: the one of the package
# debian-archive-keyring, which knows every suite, and the ones that the
# system's sources name for this mirror. Only keys that the system already
# trusts for Debian are used; there is no way to switch verification off.
debian_keyrings() {
    local uri=$1 etc_list='' etc_parts='' file keys=()
    eval "$(apt-config shell etc_list Dir::Etc::sourcelist/f etc_parts Dir::Etc::sourceparts/d)"
    for file in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
        if [ -r "$file" ]; then
            keys+=("$file")
            break
        fi
    done
    while IFS= read -r file; do
        case $file in
        /*) [ -r "$file" ] && keys+=("$file") ;;
        esac
    done < <(
        # In the one-line format a source is a line; in the other one it is a
        # paragraph. In both, the key belongs to the mirror named beside it.
        for file in "$etc_list" "$etc_parts"/*.list; do
            [ -r "$file" ] && awk -v uri="$uri" '
                /^[[:space:]]*deb/ && index($0, uri) && match($0, /signed-by=[^] ]+/) {
                    print substr($0, RSTART + 10, RLENGTH - 10)
                }' "$file" | tr ',' '\n'
        done
        for file in "$etc_parts"/*.sources; do
            [ -r "$file" ] && awk -v uri="$uri" '
                BEGIN { RS = ""; FS = "\n" }
                index($0, uri) {
                    for (i = 1; i <= NF; i++)
                        if (tolower($i) ~ /^signed-by:/) { sub(/^[^:]*:[[:space:]]*/, "", $i); print $i }
                }' "$file" | tr ', ' '\n\n'
        done
        true
    )
    [ ${#keys[@]} -gt 0 ] || return 0
    printf '%s\n' "${keys[@]}" | awk '!seen[$0]++' | paste -sd, -
}

# Prepares a private apt below $scratch/apt for one mirror and suite.
private_apt_config() {
    local mirror=$1 suite=$2 root=$scratch/apt arch keys options
    arch=$(dpkg --print-architecture)
    keys=$(debian_keyrings "$mirror")
    rm -rf "$root"
    mkdir -p "$root/state/lists/partial" "$root/cache/archives/partial" "$root/log" "$root/parts"
    : >"$root/status"
    # "target=Packages" leaves out the descriptions of graphical programs,
    # which some systems fetch for every source.
    options="arch=$arch target=Packages"
    [ -z "$keys" ] || options="$options signed-by=$keys"
    printf 'deb [%s] %s %s main\n' "$options" "$mirror" "$suite" >"$root/sources.list"
    {
        # The system's way to the network is kept, and nothing else of its
        # configuration: hooks that run after an update, for example, would
        # act on the system's own cache.
        apt-config dump | grep '^Acquire::' || true
        cat <<CONFIG
Dir::State "$root/state";
Dir::State::status "$root/status";
Dir::Cache "$root/cache";
Dir::Cache::archives "archives/";
Dir::Log "$root/log";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "$root/parts";
Dir::Etc::sourcelist "$root/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "3";
CONFIG
    } >"$root/apt.conf"
}

private_apt() {
    local program=$1
    shift
    APT_CONFIG=$scratch/apt/apt.conf "$program" -q -q "$@"
}

# choose_suite PACKAGE WANTED SUITE…
# Leaves a private apt that offers PACKAGE in a version that matches the glob
# pattern WANTED, from the first suite that has one; sets package_version. A
# rolling suite moves on without asking, so the version is always compared.
choose_suite() {
    local package=$1 wanted=$2 mirrors mirror suite version offered='' reached=''
    shift 2
    mapfile -t mirrors < <(debian_mirrors)
    [ ${#mirrors[@]} -gt 0 ] ||
        die 4 "apt's sources on this machine name no Debian mirror to take $package from."
    for suite in "$@"; do
        for mirror in "${mirrors[@]}"; do
            private_apt_config "$mirror" "$suite"
            say "reading the package list of $suite"
            private_apt apt-get update || continue
            reached=yes
            version=$(private_apt apt-cache policy "$package" | awk '$1 == "Candidate:" { print $2 }')
            case $version in
            '' | '(none)') continue ;;
            esac
            offered="$offered $suite has $version;"
            # The pattern is meant to be one.
            # shellcheck disable=SC2254
            case $version in
            $wanted)
                package_version=$version
                package_suite=$suite
                return 0
                ;;
            esac
        done
    done
    [ -n "$reached" ] ||
        die 4 "no Debian mirror of this machine gave a package list of '$*' that its keys verify (reason above)."
    die 5 "$package was wanted in a version like '$wanted', but${offered:- none of '$*' has it;} set the variable named in tests/setup/README.md to accept another."
}

# unpack_packages DIRECTORY PACKAGE…
# Downloads the packages with everything they depend on, and unpacks them.
unpack_packages() {
    local into=$1 archive archives=$scratch/apt/cache/archives
    shift
    rm -f "$archives"/*.deb
    say "downloading $* and what they need"
    private_apt apt-get -y --download-only -o Dpkg::Use-Pty=0 install "$@" ||
        die 4 "apt could not download '$*' (reason above)."
    mkdir -p "$into"
    for archive in "$archives"/*.deb; do
        dpkg-deb -x "$archive" "$into" ||
            die 1 "the package $(basename "$archive") could not be unpacked into $into."
    done
    # A record of what exactly is in the directory.
    (cd "$archives" && sha256sum -- *.deb) >"$into/packages.sha256"
    rm -f "$archives"/*.deb
}

# The directory with a prefix's libraries; its name depends on the processor.
prefix_libraries() {
    local found
    found=$(find "$1/usr/lib" -mindepth 2 -maxdepth 2 -name 'libc.so.6' -print -quit)
    [ -n "$found" ] || die 1 "the unpacked packages hold no C library below $1."
    dirname "$found"
}

# The prefix's own program loader, which has to match its C library.
prefix_loader() {
    local found
    found=$(find "$(prefix_libraries "$1")" -maxdepth 1 -name 'ld-linux*.so.*' -print -quit)
    [ -n "$found" ] || die 1 "the unpacked packages hold no program loader below $1."
    printf '%s\n' "$found"
}

# A colon ends a directory in every list of library directories.
refuse_colon() {
    case $1 in
    *:*) die 1 "the cache directory $1 has a colon in its name, which the program loader cannot handle: set FILLRATE_CACHE." ;;
    esac
}
