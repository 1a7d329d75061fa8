"""The exchange, a synchronous calculation with integers: orders, books, matching, money, lifecycle,
verification, webhooks, quirks, assumptions. Start reading at `exchange.py`.
"""
