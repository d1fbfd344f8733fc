"""What noisy counts and private samples share: declared domains, a budget, a ledger."""
