"""Which box a command gets, and what of the policy it has to hold."""
