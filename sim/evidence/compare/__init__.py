"""What differs between a recording and the sandbox, and what nobody has reviewed yet."""
