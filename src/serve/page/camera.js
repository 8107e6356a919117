// Which element is in the middle of the screen, and how large elements are.
//
// The whole part of a coordinate is a BigInt and the rest a number in [0, 1): 10^15 is as exact as 0. Differences
// between places that are on the screen together are small, or at least exact enough: those are numbers.

const FURTHEST = 2n ** 62n - 3n;
export const CLOSEST = 7, FARTHEST = -52;

export class Camera {
  constructor() {
    this.cell = [0n, 0n]; // row, column
    this.part = [0, 0];
    this.zoom = 0; // log2 of CSS pixels per element
    this.size = [1, 1]; // CSS pixels: height, width
  }

  get scale() { return 2 ** this.zoom; }

  // Where the near edge of an element is, in CSS pixels from the top or left; way 0 is down, 1 is right.
  toScreen(cell, way) {
    return (Number(cell - this.cell[way]) - this.part[way]) * this.scale + this.size[way] / 2;
  }

  // Which element a pixel lies in.
  toCell(pixel, way) {
    const [cell] = add(this.cell[way], this.part[way], (pixel - this.size[way] / 2) / this.scale);
    return cell;
  }

  moveBy(pixels) {
    for (const way of [0, 1]) {
      const [cell, part] = add(this.cell[way], this.part[way], pixels[way] / this.scale);
      this.cell[way] = clamp(cell);
      this.part[way] = part;
    }
  }

  // Zooms so that what is under a pixel stays there.
  zoomAt(zoom, pixel) {
    const offset = [0, 1].map((way) => pixel[way] - this.size[way] / 2);
    this.moveBy(offset);
    this.zoom = Math.min(CLOSEST, Math.max(FARTHEST, zoom));
    this.moveBy(offset.map((distance) => -distance));
  }

  goTo(cell) {
    this.cell = cell.map(clamp);
    this.part = [0.5, 0.5];
  }
}

// (cell + part) + distance, whole and rest; distances beyond 2^53 lose what no screen could show.
function add(cell, part, distance) {
  const whole = Math.floor(distance);
  let rest = part + (distance - whole);
  let more = BigInt(whole);
  if (rest >= 1) { rest -= 1; more += 1n; }
  return [cell + more, rest];
}

function clamp(cell) {
  return cell > FURTHEST ? FURTHEST : cell < -FURTHEST ? -FURTHEST : cell;
}

// Floor division, which BigInt has not.
export function floorDiv(a, b) {
  const q = a / b;
  return a % b !== 0n && (a < 0n) !== (b < 0n) ? q - 1n : q;
}
