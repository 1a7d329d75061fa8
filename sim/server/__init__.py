"""The only asyncio, aiohttp and grpc in the house: sockets in, calls on a `Simulation`, effects
out. Nothing here decides anything about markets.
"""
