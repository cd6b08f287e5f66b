"""One module per axis: `run` returns its rows, `show` its Markdown, `plots` its figures, if any."""
