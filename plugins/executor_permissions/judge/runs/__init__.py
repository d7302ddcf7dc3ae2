"""What a command runs besides itself, in any of the ways in which programs run others."""
