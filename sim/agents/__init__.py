"""What `sim mcp` offers to coding agents: exchanges that live as long as a session, and tools that
answer in short Markdown.

Only `mcp_server` depends on the protocol's library.
"""
