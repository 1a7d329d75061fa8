"""The tools of `sim mcp` for coding agents: exchanges that live as long as a session, with answers
in short Markdown.

Only `mcp_server` depends on the protocol's library.
"""
