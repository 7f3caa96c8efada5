"""What the runtime needs of the world, as protocols in the domain's words.

Every adapter passes the suites in `wow_ray.testing.contract`.
"""
