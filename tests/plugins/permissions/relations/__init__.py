"""Relations that hold between decisions, whatever each of them is; looked for among drawn commands."""
