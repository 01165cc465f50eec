"""Arithmetic of chance and of whole numbers: intervals, blocks of time, rounding without loss. It knows no store."""
