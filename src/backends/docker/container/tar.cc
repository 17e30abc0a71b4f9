#include "backends/docker/container/tar.h"

#include <fmt/format.h>

namespace nutshell::docker {

std::string tar_head(const TarEntry& entry) {
  std::string head(kTarBlock, '\0');
  const auto put = [&head](std::size_t at, std::string_view text) {
    head.replace(at, text.size(), text);
  };
  put(0, entry.name);
  put(100, fmt::format("{:07o}", entry.mode));
  put(108, fmt::format("{:07o}", entry.owner));
  put(116, fmt::format("{:07o}", entry.owner));
  put(124, fmt::format("{:011o}", entry.size));
  put(136, "00000000000");
  put(148, "        ");
  head[156] = static_cast<char>(entry.type);
  put(157, entry.link);
  put(257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char letter : head)
    sum += static_cast<unsigned char>(letter);
  put(148, fmt::format("{:06o}", sum));
  head[154] = '\0';
  return head;
}

}  // namespace nutshell::docker
