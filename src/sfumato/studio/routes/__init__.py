"""Routes of the studio, a file for each step."""
