"""What Redis can do here: wake-ups. Imported only where `redis_url` is set."""
