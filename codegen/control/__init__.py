"""Control flow in native code: regions, state in registers, exits and polling."""
