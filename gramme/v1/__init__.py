"""What processes say to each other. `make proto` makes all of this but this line from proto/gramme/v1."""
