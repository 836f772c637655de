"""The native entry of compiled functions: it checks arguments, calls, and makes results."""
