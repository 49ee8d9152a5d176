"""One module per command: its options, and the call of `api` it stands for."""
