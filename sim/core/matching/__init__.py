"""Books and matching: price-time priority, auctions, stops, self-match prevention."""
