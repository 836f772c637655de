"""Loops over the elements of arrays: operations on arrays where steps do not depend on each other
(`conversion`), and with less to check and to wait for where they do."""
