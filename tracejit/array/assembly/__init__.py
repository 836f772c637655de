"""Arrays put together from others, cut apart, and indices made: blocks, insertions, grids, triangles."""
