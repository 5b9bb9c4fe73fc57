"""A few data sets with the interface of reasoning-gym 0.1.25, some of their answers wrong."""
