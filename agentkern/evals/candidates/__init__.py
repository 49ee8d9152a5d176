"""What can be handed in, by language: one protocol, one module a language."""
