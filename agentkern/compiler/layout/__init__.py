"""Layout algebra: pure mathematics of who holds which element."""
