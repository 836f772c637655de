"""The commands, one a module; each loads when it is run."""
