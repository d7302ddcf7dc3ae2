"""The files that a command reads, shows, writes, moves and unpacks."""
