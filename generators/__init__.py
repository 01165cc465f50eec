"""Workload models that emit OpenTelemetry spans and counters, with the truth beside them.

    scenario (TOML)  ->  parameters  ->  workload (seeded draws)  ->  simulation  ->  records  ->  OTLP files
    or endpoint \\->  truth.json             Arrow tables

`generate` writes one run; `scenarios.names()` lists what there is. Nothing here uses the analysis that it
serves to score, and nothing in the spans says what was injected.
"""
