"""The life of a training job on a cluster: queue, gang wait, provisioning, start, progress, failures, restarts.

Steps inside the running phase are summarised as progress and checkpoints; `generators.training` models them.
"""
