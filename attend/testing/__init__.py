"""What tests of attend, and of what is built on it, stand on: a clock of one's own and crashes at any commit."""
