// Tiles that the server has computed, and those that are asked for now.
//
// The page says again and again which tiles it would like, best first; what it does not like any more is aborted,
// which stops the computation on the server, too. Neighbours are asked for together: a request costs the browser as much
// as some tiles cost the server, and tiles that need much around themselves share it.
//
//   wishes 80 tiles in 10 columns   ->   GET /tiles/worn/0/-5/-4.npy?…&size=128&tiles=4,10   ->   40 tiles

import { npy } from "/npy.js";

export const SIDE = 128; // samples of a sharp tile, each way: little of it lies beyond the edges of the screen
export const ROUGH = 64; // and of one that comes before it
export const SMALL = 16; // and of one whose elements are told in numbers
const LONGEST = 4096n; // samples of a request, each way
const FAR = 24; // the level from which on the server has other code for every 65,536 samples each way
const AT_ONCE = 4; // the browser keeps six connections; one waits for news
const KEPT = 1920;
const LATER = ["around", "ahead"]; // what nobody looks at yet: not while the browser has to draw what arrives
const AGAIN = 400; // milliseconds until a busy server is asked again
const APART = 1.3; // times as much that a tile computes by itself as with its neighbours, from which on it is not asked for alone

export class Tiles {
  constructor(changed) {
    this.changed = changed;
    this.ready = new Map(); // key -> tile, the one used longest ago first
    this.asked = new Map(); // key -> AbortController, one for all tiles of a request
    this.failed = new Map(); // key -> why
    this.begun = new Set(); // levels of a set of which a tile has come: the server has code for them
    this.wishes = [];
    this.pause = 0;
    this.times = {};
  }

  get(key) { return this.ready.get(key); }

  // What is wanted now, best first: { key, address, words, set, k, side, row, column, kind, pace, near }
  // A kind is exact (for numbers), rough, middle, sharp, around or ahead.
  want(wishes) {
    this.wishes = wishes;
    const wanted = new Set(wishes.map(({ key }) => this.asked.get(key)));
    for (const abort of this.requests()) if (!wanted.has(abort)) abort.abort();
    this.ask();
  }

  // What the server is asked now.
  requests() { return new Set(this.asked.values()); }

  missing() {
    return this.wishes.filter(({ key, kind }) => kind === "sharp" && !this.ready.has(key) && !this.failed.has(key)).length;
  }

  ask() {
    if (performance.now() < this.pause) return;
    for (const wish of this.wishes) {
      const asked = this.requests().size;
      if (asked >= AT_ONCE) return;
      if (LATER.includes(wish.kind) && (asked > 1 || (asked && this.missing()))) return;
      if (wish.kind === "rough" && !this.mayAskRough(wish)) continue;
      if (this.open(wish)) this.fetch(this.block(wish));
    }
  }

  // Whether a tile has yet to be asked for.
  open({ key }) { return !this.ready.has(key) && !this.asked.has(key) && !this.failed.has(key); }

  // A rectangle of open tiles around one, as many as should be asked for at once.
  block(wish) {
    const same = this.wishes.filter(({ kind, k, side }) => kind === wish.kind && k === wish.k && side === wish.side);
    const open = new Map(same.filter((one) => this.open(one)).map((one) => [`${one.row},${one.column}`, one]));
    const most = this.most(wish, same.length, open.size);
    const tilesOf = ([top, left, bottom, right]) => {
      const tiles = [];
      for (let row = top; row <= bottom; row++) for (let column = left; column <= right; column++) tiles.push(open.get(`${row},${column}`));
      return tiles;
    };
    let edges = [wish.row, wish.column, wish.row, wish.column];
    for (let grown = true; grown;) {
      grown = false;
      // Whole rows of the view leave no scraps behind, which would be requests of their own; squares share most.
      const across = !this.shares(wish.pace) || edges[2] - edges[0] > edges[3] - edges[1];
      for (const edge of across ? [1, 3, 0, 2] : [0, 2, 1, 3]) {
        const next = edges.with(edge, edges[edge] + (edge < 2 ? -1n : 1n));
        const tiles = tilesOf(next);
        if (tiles.length > most || !tiles.every(Boolean) || !this.ofOnePiece(wish, next)) continue;
        [edges, grown] = [next, true];
        break;
      }
    }
    return tilesOf(edges);
  }

  // Whether one request may have all tiles between some edges.
  ofOnePiece({ k, side }, edges) {
    return [0, 1].every((way) => {
      const [first, last] = [edges[way] * BigInt(side), (edges[way + 2] + 1n) * BigInt(side)];
      return last - first <= LONGEST && (k < FAR || first >> 16n === (last - 1n) >> 16n);
    });
  }

  // How many tiles a request has at the most: what takes a fifth of a second, so that the picture fills steadily and
  // all cores have some of it, to the end. Where tiles share most of their work it may take longer, one half of the view each.
  most({ kind, pace, near }, all, open) {
    const { sharp, limit } = this.pace(pace);
    // Before any is there: elements that do not lie side by side have taken up to four times as long.
    const each = sharp || 4 * this.pace(near).sharp;
    if (!["sharp", "around"].includes(kind) || !each) return 1;
    const [time, fair] = this.shares(pace) ? [4000, Math.ceil(all / 2)] : [200, Math.ceil(Math.min(all / 8, open / AT_ONCE))];
    return Math.max(1, Math.min(limit, Math.floor(time / each), fair));
  }

  // Whether neighbours share so much of their work that no tile is asked for alone.
  shares(pace) { return this.pace(pace).alone > APART; }

  async fetch(tiles) {
    const abort = new AbortController();
    const [first, last] = [tiles[0], tiles.at(-1)];
    abort.kind = first.kind;
    for (const { key } of tiles) this.asked.set(key, abort);
    const start = performance.now();
    const size = tiles.length === 1 ? "" : `&tiles=${last.row - first.row + 1n},${last.column - first.column + 1n}`;
    const url = `${first.address}/${first.column}/${first.row}.npy?${first.words}&size=${first.side}${size}`;
    try {
      const response = await fetch(url, { signal: abort.signal });
      if (response.status === 503) this.rest();
      else if (!response.ok) this.refused(tiles, (await response.text()).trim());
      else {
        const alone = Number(response.headers.get("itp-alone") ?? 1);
        this.keep(tiles, response, await response.arrayBuffer());
        this.took(first, (performance.now() - start) / tiles.length, alone);
      }
    } catch (error) {
      if (error.name !== "AbortError") this.rest();
    } finally {
      for (const { key } of tiles) this.asked.delete(key);
      this.changed();
      this.ask();
    }
  }

  // How long tiles take, by layer and by whether elements are left out between samples, which costs more.
  took({ kind, pace }, time, alone) {
    const times = (this.times[pace] ??= this.pace(pace));
    if (!(kind in times)) return;
    // The first of a level waits for its code: what comes quicker is nearer to what the next will take.
    times[kind] = times[kind] && time > times[kind] ? 0.7 * times[kind] + 0.3 * time : time;
    if (kind === "sharp") times.alone = alone;
  }

  pace(pace) { return this.times[pace] ?? { rough: 0, sharp: 0, alone: 1, limit: Infinity }; }

  // What is too much at once may be possible by halves.
  refused(tiles, why) {
    if (tiles.length === 1) return this.failed.set(tiles[0].key, why);
    (this.times[tiles[0].pace] ??= this.pace(tiles[0].pace)).limit = Math.floor(tiles.length / 2);
  }

  // One at a time until it is known that they come quickly, so that the sharp ones do not wait for them: where the server
  // has no code yet, one core makes it for the rough ones, and the other for the sharp ones.
  mayAskRough(wish) {
    const { rough } = this.pace(wish.pace);
    const asked = [...this.requests()].filter(({ kind }) => kind === "rough").length;
    return asked < (rough > 0 && rough < 200 && this.begun.has(levelOf(wish)) ? AT_ONCE : 1);
  }

  rest() {
    this.pause = performance.now() + AGAIN;
    setTimeout(() => this.ask(), AGAIN + 10);
  }

  keep(tiles, response, buffer) {
    this.begun.add(levelOf(tiles[0]));
    const { shape, values } = npy(buffer);
    const [channels, ...size] = shape.length === 3 ? shape : [1, ...shape];
    const first = (response.headers.get("itp-origin") ?? "0,0").split(",").map(BigInt);
    for (const wish of tiles) {
      const part = tiles.length === 1 ? { rows: size[0], columns: size[1], first, values } : cut(wish, { channels, size, first, values });
      const big = part.values instanceof BigInt64Array || part.values instanceof BigUint64Array;
      const numbers = big ? Float64Array.from(part.values, Number) : part.values;
      this.ready.set(wish.key, { ...wish, channels, ...part, numbers, painted: -1, picture: null });
    }
    for (const key of this.ready.keys()) {
      if (this.ready.size <= KEPT) break;
      this.ready.delete(key);
    }
  }

  // Tiles of a set (a layer under certain parameters), marked as used.
  of(set) {
    const found = [];
    for (const [key, tile] of this.ready) if (tile.set === set) found.push([key, tile]);
    for (const [key, tile] of found) { this.ready.delete(key); this.ready.set(key, tile); }
    return found.map(([, tile]) => tile);
  }

  // What failed for good is tried again when the script is another.
  forgive() { this.failed.clear(); }
}

function levelOf({ set, k, side }) { return `${set} ${k} ${side}`; }

// What a block of samples has of one of its tiles.
function cut({ side, row, column }, { channels, size, first, values }) {
  const ranges = [row, column].map((number, way) => {
    const from = Number(number * BigInt(side) - first[way]);
    return [from, from + side].map((edge) => Math.min(Math.max(edge, 0), size[way]));
  });
  const [[top, bottom], [left, right]] = ranges;
  const [rows, columns] = [bottom - top, right - left];
  const part = new values.constructor(channels * rows * columns);
  for (let line = 0; line < channels * rows; line++) {
    const from = (Math.floor(line / rows) * size[0] + top + (line % rows)) * size[1];
    part.set(values.subarray(from + left, from + right), line * columns);
  }
  return { rows, columns, first: [first[0] + BigInt(top), first[1] + BigInt(left)], values: part };
}
