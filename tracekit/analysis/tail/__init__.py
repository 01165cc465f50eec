"""Which stage made the slow ones slow, and whose it is: cohorts, their comparison, what chance makes, the answer."""
