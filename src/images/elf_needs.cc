#include "images/elf_needs.h"

#include <elf.h>

#include <cstring>
#include <optional>

namespace nutshell::images {
namespace {

constexpr std::size_t kMostNeeds = 512;

template <typename T>
std::optional<T> read_at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

// Returns the text up to its NUL; nullopt if there is none.
std::optional<std::string> text_at(std::string_view file, std::uint64_t offset) {
  if (offset >= file.size()) return std::nullopt;
  const std::size_t end = file.find('\0', offset);
  if (end == std::string_view::npos || end - offset > 4096) return std::nullopt;
  return std::string(file.substr(offset, end - offset));
}

std::vector<Elf64_Phdr> segments_of(std::string_view file, const Elf64_Ehdr& head) {
  std::vector<Elf64_Phdr> segments;
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    if (head.e_phoff > file.size()) break;
    const auto segment = read_at<Elf64_Phdr>(file, head.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment) segments.push_back(*segment);
  }
  return segments;
}

// Returns the offset in the file of an address of the loaded program.
std::optional<std::uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments,
                                       std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    const bool is_inside = segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                           address - segment.p_vaddr < segment.p_filesz;
    if (is_inside) return address - segment.p_vaddr + segment.p_offset;
  }
  return std::nullopt;
}

void read_dynamic(std::string_view file, const std::vector<Elf64_Phdr>& segments,
                  const Elf64_Phdr& dynamic, ElfNeeds& needs) {
  std::vector<std::uint64_t> names;
  std::optional<std::uint64_t> strings;
  for (std::uint64_t at = 0; at < dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
    if (dynamic.p_offset > file.size()) return;
    const auto entry = read_at<Elf64_Dyn>(file, dynamic.p_offset + at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED && names.size() < kMostNeeds) names.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_STRTAB) strings = offset_of(segments, entry->d_un.d_ptr);
  }
  if (!strings || *strings > file.size()) return;
  for (const std::uint64_t name : names) {
    if (name > file.size()) continue;
    if (auto text = text_at(file, *strings + name); text && !text->empty())
      needs.libraries.push_back(std::move(*text));
  }
}

}  // namespace

bool is_elf(std::string_view file) {
  return file.starts_with(std::string_view(ELFMAG, SELFMAG));
}

Result<ElfNeeds> read_elf_needs(std::string_view file) {
  const auto head = read_at<Elf64_Ehdr>(file, 0);
  const bool is_known = head && is_elf(file) && head->e_ident[EI_CLASS] == ELFCLASS64 &&
                        head->e_ident[EI_DATA] == ELFDATA2LSB &&
                        head->e_phentsize == sizeof(Elf64_Phdr);
  if (!is_known) return failure(ErrorCode::InvalidArgument, "this is not a 64-bit ELF file");
  ElfNeeds needs;
  const auto segments = segments_of(file, *head);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) {
      if (auto text = text_at(file, segment.p_offset)) needs.interpreter = std::move(*text);
    }
    if (segment.p_type == PT_DYNAMIC) read_dynamic(file, segments, segment, needs);
  }
  return needs;
}

}  // namespace nutshell::images
