"""What Redis can do here: wake-ups, where `redis_url` is set; and what its errors mean, which needs no client."""
