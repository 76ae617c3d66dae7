"""Proofs: data that a small kernel replays, the prover that finds them, and an independent oracle."""
