// Reads rustc's diagnostics and the panics of Rust programs, wherever they stand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

// Takes "error[E0308]: mismatched types" with its place, labels, notes and suggestions, or a
// message of cargo's own without a place. Returns false if there is none at the cursor.
bool take_rust_diagnostic(LineCursor& cursor, Ledger& ledger);

struct RustPanic {
  std::string thread;  // a test's name, or "main"
  Location where;
  std::vector<std::string> message;
};

// "thread 'x' panicked at src/lib.rs:1:2:", the message and its backtrace.
std::optional<RustPanic> take_rust_panic(LineCursor& cursor, Ledger& ledger);

}  // namespace nutshell::compaction
