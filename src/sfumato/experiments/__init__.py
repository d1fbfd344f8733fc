"""Tables and studies that show the library at work: the synthetic hospital, sweeps and comparisons."""
