"""What a release keeps of every kind: answers to queries, classifiers, correlations, and privacy against utility."""
