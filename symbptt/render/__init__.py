"""Rendering: what a derivation looks like as documents and as programs. Reads the record, never the engine."""
