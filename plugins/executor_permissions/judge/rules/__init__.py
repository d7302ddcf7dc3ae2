"""The rules of a policy, made ready: patterns for commands, paths, addresses and values."""
