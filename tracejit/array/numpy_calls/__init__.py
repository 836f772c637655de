"""NumPy's own functions, called with tensors: ``np.sin(x)`` is ``tj.sin(x)``, eagerly and under a trace."""
