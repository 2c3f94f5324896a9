"""Report: figures, HTML, LaTeX, tables, text. Renders the results of analysis and computes no statistic."""
