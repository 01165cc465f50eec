"""What became of requests: targets met and missed, failures with their first cause, what a change would give."""
