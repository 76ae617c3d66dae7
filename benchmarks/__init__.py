"""Benchmarks: `derive` times the derivation, `programs` the generated code."""
