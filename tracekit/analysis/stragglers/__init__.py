"""Which rank, host, link or pipeline stage made the others wait."""
