"""Renderers of documents: one module per medium, and the only places that escape, wrap, fold or shorten."""
