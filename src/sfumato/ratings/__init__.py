"""Survey rating data: sparse ratings of issues, and the (k, ε, l)-anonymity of Sun, Wang and Li."""
