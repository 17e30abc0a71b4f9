#include "runtime/toolchain_table.h"

#include <array>

namespace nutshell {
namespace {

constexpr std::string_view kConda =
    "bin condabin lib include share libexec ssl compiler_compat envs";
constexpr std::string_view kJavaFiles = "release conf/net.properties conf/logging.properties";
constexpr std::string_view kInstalledParts =
    "*/bin */sbin */lib */lib64 */libexec */include */share */jre */jmods */boot */conf/security "
    "*/conf/logging";

constexpr auto kPublished = ToolSource::Content::Published;

constexpr std::array kSources = {
    ToolSource{"pyenv", "PYENV_ROOT", "~/.pyenv",
               "versions shims libexec bin plugins pyenv.d completions", "version", "shims bin",
               true},
    ToolSource{"uv", "", "~/.local/share/uv", "python tools", "", "", false},
    ToolSource{"pipx", "", "~/.local/share/pipx", "venvs", "", "", false},
    ToolSource{"programs of the user", "", "~/.local", "bin", "", "bin", false},
    ToolSource{"miniconda", "", "~/miniconda3", kConda, "", "bin", false},
    ToolSource{"anaconda", "", "~/anaconda3", kConda, "", "bin", false},
    ToolSource{"miniforge", "", "~/miniforge3", kConda, "", "bin", false},
    ToolSource{"nvm", "NVM_DIR", "~/.nvm", "versions", "", "versions/node/*/bin", false},
    ToolSource{"fnm", "FNM_DIR", "~/.local/share/fnm", "node-versions", "",
               "node-versions/*/installation/bin", false},
    ToolSource{"volta", "VOLTA_HOME", "~/.volta", "bin tools", "", "bin", true},
    ToolSource{"npm", "", "~/.npm-global", "bin lib", "", "bin", false},
    ToolSource{"pnpm", "PNPM_HOME", "~/.local/share/pnpm", "global bin", "", "bin", false},
    ToolSource{"bun", "BUN_INSTALL", "~/.bun", "bin", "", "bin", false},
    ToolSource{"deno", "DENO_INSTALL", "~/.deno", "bin", "", "bin", false},
    ToolSource{"rustup", "RUSTUP_HOME", "~/.rustup", "toolchains update-hashes tmp",
               "settings.toml", "", true},
    ToolSource{"cargo", "CARGO_HOME", "~/.cargo", "bin", "", "bin", false},
    ToolSource{"go", "GOROOT", "/usr/local/go", ".", "", "bin", false},
    ToolSource{"programs of go", "GOPATH", "~/go", "bin", "", "bin", false},
    // Packages that projects were built with before: there is no network to get them again.
    ToolSource{"modules of go", "GOPATH", "~/go", "pkg/mod/cache/download pkg/mod/*.*", "", "",
               false, "GOMODCACHE=@/pkg/mod", kPublished},
    ToolSource{"modules of go elsewhere", "GOMODCACHE", "", "cache/download *.*", "", "", true, "",
               kPublished},
    ToolSource{"crates", "CARGO_HOME", "~/.cargo", "registry/index registry/cache registry/src", "",
               "", true, "", kPublished},
    ToolSource{"packages of maven", "", "~/.m2", "repository", "", "", false,
               "MAVEN_OPTS=-Dmaven.repo.local=@/repository", kPublished},
    ToolSource{"packages of gradle", "", "~/.gradle", "caches/modules-2", "", "", false,
               "GRADLE_RO_DEP_CACHE=@/caches", kPublished},
    ToolSource{"maven of the system", "", "/etc/maven", "logging", "m2.conf toolchains.xml", "",
               false},
    ToolSource{"sdkman", "SDKMAN_DIR", "~/.sdkman", "candidates", "", "candidates/*/current/bin",
               false},
    ToolSource{"jenv", "JENV_ROOT", "~/.jenv", "versions shims bin libexec plugins", "version",
               "shims bin", true},
    ToolSource{"asdf", "ASDF_DATA_DIR", "~/.asdf",
               "bin lib libexec shims installs plugins completions", "asdf.sh", "shims bin", true},
    ToolSource{"mise", "MISE_DATA_DIR", "~/.local/share/mise", "shims installs", "", "shims", true},
    ToolSource{"rbenv", "RBENV_ROOT", "~/.rbenv", "versions shims bin libexec plugins", "version",
               "shims bin", true},
    ToolSource{"ghcup", "", "~/.ghcup", "bin ghc cabal", "", "bin", false},
    ToolSource{"dotnet", "DOTNET_ROOT", "~/.dotnet", "sdk shared host packs", "dotnet", ".", true},
    ToolSource{"homebrew", "HOMEBREW_PREFIX", "/home/linuxbrew/.linuxbrew",
               "bin sbin lib include share opt Cellar", "", "bin sbin", false},
    ToolSource{"nix", "", "/nix", "store var/nix/profiles", "", "var/nix/profiles/default/bin",
               false},
    ToolSource{"/usr/local", "", "/usr/local", ".", "", "bin sbin", false},
    ToolSource{"/opt", "", "/opt", kInstalledParts, "", "*/bin", false},
    ToolSource{"java", "JAVA_HOME", "/usr/lib/jvm/default-java",
               "bin lib include jmods jre conf/security", kJavaFiles, "bin", true},
};

constexpr std::array<std::string_view, 40> kPrivatePaths = {
    ".ssh",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".kube",
    ".docker",
    ".gnupg",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip",
    ".pip",
    ".condarc",
    ".git-credentials",
    ".gitconfig",
    ".config/git",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".cargo/config.toml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".terraform.d",
    ".vault-token",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".claude",
    ".codex",
    ".bash_history",
    ".zsh_history",
};

constexpr std::array<std::string_view, 41> kPrivateNames = {".ssh",
                                                            ".aws",
                                                            ".azure",
                                                            ".kube",
                                                            ".docker",
                                                            ".gnupg",
                                                            ".password-store",
                                                            ".netrc",
                                                            "_netrc",
                                                            ".npmrc",
                                                            "npmrc",
                                                            ".yarnrc",
                                                            ".yarnrc.yml",
                                                            ".pypirc",
                                                            "pip.conf",
                                                            "pip.ini",
                                                            ".condarc",
                                                            "condarc",
                                                            ".env",
                                                            ".envrc",
                                                            "credentials",
                                                            "credentials.toml",
                                                            "credentials.json",
                                                            "credentials.db",
                                                            "settings.xml",
                                                            "settings-security.xml",
                                                            "gradle.properties",
                                                            "auth.json",
                                                            "hosts.yml",
                                                            ".dockercfg",
                                                            ".boto",
                                                            ".s3cfg",
                                                            "id_rsa",
                                                            "id_dsa",
                                                            "id_ed25519",
                                                            "id_ecdsa",
                                                            ".git-credentials",
                                                            ".gitconfig",
                                                            ".vault-token",
                                                            ".pgpass",
                                                            ".my.cnf"};

constexpr std::array<std::string_view, 3> kOfflineVariables = {
    "npm_config_fetch_retries=0", "PIP_RETRIES=0", "CARGO_NET_RETRY=0"};

}  // namespace

std::span<const std::string_view> offline_variables() {
  return kOfflineVariables;
}

std::span<const ToolSource> tool_sources() {
  return kSources;
}

std::span<const std::string_view> private_paths() {
  return kPrivatePaths;
}

std::span<const std::string_view> private_names() {
  return kPrivateNames;
}

}  // namespace nutshell
