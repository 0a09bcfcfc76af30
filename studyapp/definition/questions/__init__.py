"""Questions of a study: kinds, scales, flow, and the scores of scales. Pure."""
