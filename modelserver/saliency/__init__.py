"""Saliency: how much each token or word that a system read moved the logits behind its answer."""
