"""The MCP server: tools over `agentkern.tools.api` for a language model, with jobs for what takes long."""
