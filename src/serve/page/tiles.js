// Tiles that the server has computed, and those that are asked for now.
//
// The page says again and again which tiles it would like, best first; what it does not like any more is aborted,
// which stops the computation on the server, too.

import { npy } from "/npy.js";

export const SIDE = 128; // samples of a sharp tile, each way: little of it lies beyond the edges of the screen
export const ROUGH = 64; // and of one that comes before it
const AT_ONCE = 4; // the browser keeps six connections; one waits for news
const KEPT = 1920;
const AGAIN = 400; // milliseconds until a busy server is asked again

export class Tiles {
  constructor(changed) {
    this.changed = changed;
    this.ready = new Map(); // key -> tile, the one used longest ago first
    this.asked = new Map(); // key -> AbortController
    this.failed = new Map(); // key -> why
    this.wishes = [];
    this.pause = 0;
    this.times = {};
  }

  get(key) { return this.ready.get(key); }

  // What is wanted now, best first: { key, url, set, k, side, row, column, kind }
  want(wishes) {
    this.wishes = wishes;
    const keys = new Set(wishes.map((wish) => wish.key));
    for (const [key, abort] of this.asked) if (!keys.has(key)) abort.abort();
    this.ask();
  }

  missing() {
    return this.wishes.filter(({ key, kind }) => kind === "sharp" && !this.ready.has(key) && !this.failed.has(key)).length;
  }

  ask() {
    if (performance.now() < this.pause) return;
    for (const wish of this.wishes) {
      if (this.asked.size >= AT_ONCE) return;
      if (wish.kind === "around" && this.asked.size > 1) return;
      if (wish.kind === "rough" && !this.mayAskRough(wish.pace)) continue;
      const { key } = wish;
      if (!this.ready.has(key) && !this.asked.has(key) && !this.failed.has(key)) this.fetch(wish);
    }
  }

  async fetch(wish) {
    const abort = new AbortController();
    abort.kind = wish.kind;
    this.asked.set(wish.key, abort);
    const start = performance.now();
    try {
      const response = await fetch(wish.url, { signal: abort.signal });
      if (response.status === 503) this.rest();
      else if (!response.ok) this.failed.set(wish.key, (await response.text()).trim());
      else {
        this.keep(wish, response, await response.arrayBuffer());
        this.took(wish, performance.now() - start);
      }
    } catch (error) {
      if (error.name !== "AbortError") this.rest();
    } finally {
      this.asked.delete(wish.key);
      this.changed();
      this.ask();
    }
  }

  // How long tiles take, by layer and by whether elements are left out between samples, which costs more.
  took({ kind, pace }, time) {
    const times = (this.times[pace] ??= { rough: 0, sharp: 0 });
    if (kind in times) times[kind] = times[kind] ? 0.7 * times[kind] + 0.3 * time : time;
  }

  pace(pace) { return this.times[pace] ?? { rough: 0, sharp: 0 }; }

  // One at a time until it is known that they come quickly, so that the sharp ones do not wait for them.
  mayAskRough(pace) {
    const { rough } = this.pace(pace);
    const asked = [...this.asked.values()].filter(({ kind }) => kind === "rough").length;
    return asked < (rough > 0 && rough < 200 ? AT_ONCE : 1);
  }

  rest() {
    this.pause = performance.now() + AGAIN;
    setTimeout(() => this.ask(), AGAIN + 10);
  }

  keep(wish, response, buffer) {
    const { shape, values } = npy(buffer);
    const [channels, rows, columns] = shape.length === 3 ? shape : [1, ...shape];
    const first = (response.headers.get("itp-origin") ?? "0,0").split(",").map(BigInt);
    const big = values instanceof BigInt64Array || values instanceof BigUint64Array;
    const numbers = big ? Float64Array.from(values, Number) : values;
    this.ready.set(wish.key, { ...wish, channels, rows, columns, first, values, numbers, painted: -1, picture: null });
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
