"""`python -m wow_ray.cli`: the same as `wow-ray`."""

import sys

from wow_ray.cli.program import main

sys.exit(main())
