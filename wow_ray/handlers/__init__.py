"""What authors write: decorators, contexts, signatures, resources, and the frozen specs the runtime works from."""
