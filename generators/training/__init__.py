"""The training model: ranks on a mesh, pipeline schedules, collectives over links, a loader, checkpoints, what
goes wrong there.
"""
