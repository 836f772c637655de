"""Gathers, scatters, concatenation and slice updates."""
