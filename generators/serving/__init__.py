"""The serving model: clients, gateway, frontends, continuous-batching engines, streaming, and what goes wrong
there.
"""
