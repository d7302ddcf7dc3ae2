"""The ledger and the observers."""
