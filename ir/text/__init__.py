"""The IR's text form: `print_function` and `parse_function` are inverse. Specified in docs/ir.md."""
