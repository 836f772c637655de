"""Passes that write what is computed on a dtype in terms of other dtypes, which machines compute on."""
