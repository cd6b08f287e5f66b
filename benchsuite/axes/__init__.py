"""One module for every axis: `run` makes its rows, `show` its Markdown, `plots` its figures."""
