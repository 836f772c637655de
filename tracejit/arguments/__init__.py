"""Arguments of public functions: what they take, and errors that name them."""
