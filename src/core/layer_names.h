// The names in a sandbox's store that init and the process that mounts its layers agree on. A layer
// NAME is a directory of letters and digits.
#pragma once

namespace nutshell {

// The layer that every sandbox has from its start; a plain directory until something is stacked.
inline constexpr const char* kFirstLayer = "workspace";

// Where the user's directory is mounted while the overlay is made, below all layers.
inline constexpr const char* kBaseLayer = "base";

// NAME.w is the working directory that the kernel wants beside a layer it writes to.
inline constexpr const char* kWorkSuffix = ".w";

// NAME.offer is a file by which init allows the layer NAME to be mounted once, as the new top of
// /workspace. The process that mounts takes an exclusive flock on the file, checks that it still
// has its name, mounts, and removes it. Init takes the same lock to withdraw the offer by removing
// the file. So after a withdrawal the layer is either mounted or never will be, whoever died on the
// way: the kernel frees the lock of a dead process.
inline constexpr const char* kOfferSuffix = ".offer";

}  // namespace nutshell
