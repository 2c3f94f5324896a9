//! Starting a program (posix_spawn) and measuring it (wait4) with as little added as possible.
