"""What is measured: one module for each area, each with a function `figures(rounds)`."""
