"""Examples; each runs as it is."""
