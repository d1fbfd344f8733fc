"""What a release is still useful for."""
