// Values -> pixels. One range and one map hold for everything that is on the screen, never for a tile.

export class Palette {
  constructor(maps) {
    this.maps = maps; // name -> 256 colours
    this.name = "viridis";
    this.range = null; // [lo, hi], once it is known
    this.version = 0; // changes whenever pixels would
  }

  set(name, range) {
    const same = name === this.name && range && this.range && range[0] === this.range[0] && range[1] === this.range[1];
    if (same) return;
    this.name = this.maps[name] ? name : "viridis";
    this.range = range;
    this.version++;
    this.table = null;
  }

  // The map as 256 words in the byte order of image data.
  words() {
    if (this.table) return this.table;
    const bytes = new Uint8ClampedArray(1024);
    this.maps[this.name].forEach(([r, g, b], i) => bytes.set([r, g, b, 255], 4 * i));
    return (this.table = new Uint32Array(bytes.buffer));
  }

  level(value) {
    const [lo, hi] = this.range ?? [0, 1];
    if (!(lo < hi)) return 0;
    const level = Math.round(((value - lo) / (hi - lo)) * 255);
    return level > 255 ? 255 : level > 0 ? level : 0; // NaN is not above 0
  }

  // The pixels of a tile that holds rows × columns elements, once per channel.
  paint(tile) {
    const { rows, columns, channels, numbers } = tile;
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    if (channels === 1) this.paintMap(numbers, pixels);
    else this.paintColours(numbers, pixels, channels);
    return image;
  }

  paintMap(numbers, pixels) {
    const words = this.words();
    const [lo, hi] = this.range ?? [0, 1];
    const factor = lo < hi ? 255 / (hi - lo) : 0;
    for (let i = 0; i < pixels.length; i++) {
      const value = numbers[i];
      if (value !== value) continue; // NaN stays transparent
      const level = (value - lo) * factor;
      pixels[i] = words[level >= 255 ? 255 : level > 0 ? (level + 0.5) | 0 : 0];
    }
  }

  // The server has made levels of colours.
  paintColours(levels, pixels, channels) {
    const plane = pixels.length;
    for (let i = 0; i < plane; i++) {
      const opacity = channels === 4 ? levels[3 * plane + i] : 255;
      pixels[i] = levels[i] | (levels[plane + i] << 8) | (levels[2 * plane + i] << 16) | (opacity << 24);
    }
  }

  css(tile, at) {
    const plane = tile.rows * tile.columns;
    if (tile.channels === 1) return `rgb(${this.maps[this.name][this.level(tile.numbers[at])].join(" ")})`;
    return `rgb(${[0, 1, 2].map((c) => this.level(tile.numbers[c * plane + at])).join(" ")})`;
  }
}

// Smallest and largest finite value of some tiles; null if there is none.
export function rangeOf(tiles) {
  let lo = Infinity, hi = -Infinity;
  for (const { numbers } of tiles) {
    for (let i = 0; i < numbers.length; i++) {
      const value = numbers[i];
      if (value < lo && value > -Infinity) lo = value;
      if (value > hi && value < Infinity) hi = value;
    }
  }
  return lo <= hi ? [lo, hi] : null;
}

// The range of element types that have one.
export function naturalRange(element, channels) {
  return { bool: [0, 1], u8: [0, 255], u16: [0, 65535] }[element] ?? (channels > 1 ? [0, 1] : null);
}
