"""The gate, the inbox and the terminal."""
