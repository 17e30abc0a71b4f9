// Warms up a sandbox that was made ahead and waits for its orders: the first command then starts as
// quickly as a later one.
#pragma once

namespace nutshell::init {

// Runs a whole life of init on a command that cannot be started, so that the pages of init's code
// and data which a command needs are mapped, and looks up the files that most programs open,
// because the sandbox's own view of the host's files begins with an empty cache of names. Failures
// are ignored: they cost the first command time, nothing else.
void rehearse();

}  // namespace nutshell::init
