"""Combos and requests for quotes, as the retail and the exchange host share them."""
