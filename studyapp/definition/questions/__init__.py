"""Questions: kinds, answer scales, flow, scored scales. Pure."""
