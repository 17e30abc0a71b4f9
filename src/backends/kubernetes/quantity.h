// Amounts of memory and processor time as Kubernetes writes them: "512Mi", "1500m".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::kubernetes {

// Exactly that many bytes, in the largest unit that needs no fraction.
std::string memory_quantity(std::uint64_t bytes);
// Thousandths of a core.
std::string cpu_quantity(std::uint32_t millicpus);

// Read every form that Kubernetes accepts: 128974848, 129e6, 129M, 0.5Gi, 123Mi, 250m. They refuse
// an amount that is no whole number of bytes, or of thousandths of a core: "512m" of memory is half
// a byte, and whoever wrote it meant something else.
Result<std::uint64_t> parse_memory_quantity(std::string_view text);
Result<std::uint32_t> parse_cpu_quantity(std::string_view text);

}  // namespace nutshell::kubernetes
