"""Training jobs: the ledger of paid time, failures and hangs, what the steps would take under a change."""
