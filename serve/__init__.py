"""What is run on Ray Serve; no part of the package."""
