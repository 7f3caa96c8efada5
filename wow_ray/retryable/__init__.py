"""`@retryable`: plain functions that are tried again, in process or durably (contract section 9)."""
