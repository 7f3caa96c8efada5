"""A shop: orders paid, stock, parcels shipped, buyers told."""
