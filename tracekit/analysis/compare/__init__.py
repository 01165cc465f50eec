"""What changed between two groups of requests, at the same mix."""
