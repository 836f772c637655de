"""Facts about code that is not followed: functions of libraries, the user's among what they make, and state
that they read."""
