#include "init/search/file_types.h"

#include <array>

namespace nutshell::init::search {
namespace {

struct FileType {
  std::string_view names;  // the first is the usual one
  std::string_view globs;
};

// Separated by blanks.
constexpr std::array kTypes = {
    FileType{"asm", "*.asm *.s *.S"},
    FileType{"bazel", "*.bazel *.bzl BUILD WORKSPACE"},
    FileType{"c", "*.c *.h"},
    FileType{"cmake", "*.cmake CMakeLists.txt"},
    FileType{"cpp c++ cc", "*.cpp *.cc *.cxx *.c++ *.C *.h *.hpp *.hh *.hxx *.H *.inl *.ipp"},
    FileType{"cs csharp", "*.cs"},
    FileType{"css", "*.css *.scss *.sass *.less"},
    FileType{"csv", "*.csv *.tsv"},
    FileType{"dart", "*.dart"},
    FileType{"diff patch", "*.diff *.patch"},
    FileType{"docker", "Dockerfile Dockerfile.* *.dockerfile"},
    FileType{"elixir", "*.ex *.exs *.eex *.heex"},
    FileType{"erlang", "*.erl *.hrl"},
    FileType{"go", "*.go"},
    FileType{"graphql", "*.graphql *.gql"},
    FileType{"haskell hs", "*.hs *.lhs"},
    FileType{"html", "*.html *.htm"},
    FileType{"ini", "*.ini *.cfg *.conf"},
    FileType{"java", "*.java"},
    FileType{"js javascript", "*.js *.jsx *.mjs *.cjs"},
    FileType{"json", "*.json *.jsonl *.ndjson"},
    FileType{"julia", "*.jl"},
    FileType{"kotlin kt", "*.kt *.kts"},
    FileType{"log", "*.log"},
    FileType{"lua", "*.lua"},
    FileType{"make", "Makefile makefile GNUmakefile *.mk *.mak"},
    FileType{"md markdown", "*.md *.markdown *.mdx"},
    FileType{"nix", "*.nix"},
    FileType{"objc", "*.m *.mm *.h"},
    FileType{"ocaml", "*.ml *.mli"},
    FileType{"perl", "*.pl *.pm *.t"},
    FileType{"php", "*.php *.phtml"},
    FileType{"proto protobuf", "*.proto"},
    FileType{"py python", "*.py *.pyi *.pyw"},
    FileType{"r", "*.r *.R *.Rmd"},
    FileType{"rst", "*.rst"},
    FileType{"ruby rb", "*.rb *.rake *.gemspec Gemfile Rakefile"},
    FileType{"rust rs", "*.rs"},
    FileType{"scala", "*.scala *.sbt"},
    FileType{"sh shell bash", "*.sh *.bash *.zsh *.ksh .bashrc .profile .zshrc"},
    FileType{"sql", "*.sql"},
    FileType{"svelte", "*.svelte"},
    FileType{"swift", "*.swift"},
    FileType{"tex", "*.tex *.bib *.sty *.cls"},
    FileType{"tf terraform", "*.tf *.tfvars"},
    FileType{"toml", "*.toml Cargo.lock"},
    FileType{"ts typescript", "*.ts *.tsx *.mts *.cts"},
    FileType{"txt", "*.txt"},
    FileType{"vue", "*.vue"},
    FileType{"xml", "*.xml *.xsd *.xsl *.svg"},
    FileType{"yaml yml", "*.yaml *.yml"},
    FileType{"zig", "*.zig"},
};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, blank));
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return words;
}

}  // namespace

std::vector<std::string> globs_of_type(std::string_view type) {
  for (const FileType& known : kTypes) {
    for (const std::string& name : words_of(known.names))
      if (name == type) return words_of(known.globs);
  }
  return {};
}

std::string known_types() {
  std::string list;
  for (const FileType& known : kTypes) {
    if (!list.empty()) list += ' ';
    list += known.names.substr(0, known.names.find(' '));
  }
  return list;
}

}  // namespace nutshell::init::search
