"""Combos and requests for quotes, shared by the retail and the exchange host."""
