"""What a release still serves."""
