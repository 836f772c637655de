"""Groups of ops that become one loop nest each: their members, inlined values and outlining."""
