"""Back-propagation through time: the unrolled graph, the rule table, both sweeps and the closed form."""
