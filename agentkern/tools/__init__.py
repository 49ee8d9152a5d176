"""The tools: a typed Python surface (`api`), the command line over it, and the MCP server over it."""
