"""Saliency: how much each token or word moved the logits of an answer."""
