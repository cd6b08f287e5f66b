"""One module an axis: `run` makes its rows, `show` its Markdown, `plots` its figures, if any."""
