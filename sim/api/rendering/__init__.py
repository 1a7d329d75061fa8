"""Messages that several handlers build: amounts, books, orders."""
