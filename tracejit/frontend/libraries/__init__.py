"""Code that is not followed: calls of it, the user's functions among what libraries make, and state that they
read."""
