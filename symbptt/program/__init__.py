"""Array programs: what generated code computes, in which order, under which names."""
