"""
An executor as an MCP server: on stdin and stdout, or over HTTP, in both eras of the protocol.

A call becomes a `_call.ServedCall`, is made by the executor's own `submit`, and holds no thread while a person is
asked. Everything that belongs to one connection or request lives on the event loop; tools, plugins and the store never
run there.
"""
