"""`agentkern install`: give a client the MCP entry and the skills, and take them away again."""
