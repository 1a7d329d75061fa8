"""Whether recorded answers fit the contract and the specification, and which side is wrong."""
