"""Fusion: which ops become one loop nest, and what is computed again so that they can."""
