"""Listeners and webhook sender: the only package that uses asyncio, aiohttp and grpc. It turns
what sockets receive into calls on a `Simulation`, and sends the effects. It contains no rules
of the market.
"""
