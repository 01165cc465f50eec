"""What the pages share: the store and its answers, badges and headers, the question, rows of a timeline."""
