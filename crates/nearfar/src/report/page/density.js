// Many nodes as a density: the plane in view is cut into bins of some pixels; a bin has the mean colour of
// its nodes, and is the more opaque the more there are. The bins keep their size on the screen, so they
// sharpen as one zooms in.

// Draws the nodes in some ranges of the grid into `pixels`, in bins of `size` pixels.
function drawDensity(pixels, [width, height], grid, ranges, shownAs, palette, place, size) {
  const [wide, high] = [Math.ceil(width / size), Math.ceil(height / size)];
  // Count and sums of red, green and blue of each bin, side by side.
  const bins = new Uint32Array(4 * wide * high);
  const unit = place.side / 65535 / size;
  const [left, top] = [place.left / size, place.top / size];
  const { order, x: xs, y: ys } = grid;
  for (const [start, end] of ranges) {
    for (let at = start; at < end; at++) {
      const group = shownAs[order[at]];
      if (group === NO_GROUP) continue;
      const x = Math.floor(left + xs[at] * unit), y = Math.floor(top - ys[at] * unit);
      if (x < 0 || y < 0 || x >= wide || y >= high) continue;
      const bin = 4 * (y * wide + x);
      const colour = palette[group];
      bins[bin]++;
      bins[bin + 1] += colour & 255;
      bins[bin + 2] += (colour >>> 8) & 255;
      bins[bin + 3] += (colour >>> 16) & 255;
    }
  }
  const scale = 1 / Math.log1p(fullCount(bins));
  for (let y = 0, pixel = 0; y < height; y++) {
    const row = 4 * wide * Math.floor(y / size);
    for (let x = 0; x < width; x++, pixel++) {
      const bin = row + 4 * Math.floor(x / size);
      const count = bins[bin];
      if (count === 0) continue;
      const alpha = Math.min(255, Math.round(255 * (0.3 + 0.7 * Math.log1p(count) * scale)));
      pixels[pixel] = (alpha << 24) | (Math.round(bins[bin + 3] / count) << 16) | (Math.round(bins[bin + 2] / count) << 8) | Math.round(bins[bin + 1] / count);
    }
  }
}

// The count of a bin that is drawn opaque: that of the fullest hundredth.
function fullCount(bins) {
  const counts = new Uint32Array(1025);
  let filled = 0;
  for (let bin = 0; bin < bins.length; bin += 4) {
    if (bins[bin] === 0) continue;
    filled++;
    counts[Math.min(1024, bins[bin])]++;
  }
  let above = 0, count = 1024;
  while (count > 2 && (above += counts[count]) < filled / 100) count--;
  return count;
}
