"""Charts as inline SVG: widths in percent, so that text keeps its size; colours are the page's."""
