"""Gramme: a DynamoDB-compatible database that anyone can run."""
