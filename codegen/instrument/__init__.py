"""What a variant of a module does beside running: access checks, clocks, debug locations."""
