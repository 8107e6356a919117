// The page: a camera over an endless plane, tiles that arrive, and a panel that says what is shown.

import { Camera, CLOSEST, floorDiv } from "/camera.js";
import { Palette, naturalRange, rangeOf } from "/colour.js";
import { ROUGH, SIDE, SMALL, Tiles } from "/tiles.js";
import { bigint, readAddress, writeAddress } from "/address.js";
import * as panel from "/panel.js";

const $ = (id) => document.getElementById(id);
const canvas = $("map");
const context = canvas.getContext("2d", { alpha: false });
const camera = new Camera();
const tiles = new Tiles(arrived);
const COARSER = 4; // how many levels above the sharp one comes first
const SLOW = 1000; // milliseconds of a tile that is worth waiting for with less
const QUICK = 100; // and of one whose code takes as long as it does
const FARTHEST_LEVEL = 60; // of which the server has tiles
const NUMBERS = 44; // pixels of an element that has room for its value

const state = {
  script: null, // what /script says under `params`
  own: [], // parameters as the script itself says
  number: 0, // how often the script had been read when it was asked for last
  layer: null, // one of its layers
  plane: null, // { rows, columns, channels, at }
  params: {}, // those that differ from the script
  address: null, // what tiles are asked for by: layer, cut, parameters, and the range of colours
  set: "", // what tiles belong to: the address, of an edition
  exact: "", // the set of the elements themselves: the same, but for colours
  before: "", // the set that is shown until the new one is there
  looks: {}, // layer name -> { map, range, fitted }
  cursor: null, // pixels: down, right
  fitting: false,
};
let palette;

// ---- what is shown -------------------------------------------------------------------------------------------

// Colours are asked for as bytes, a quarter of what their elements would be; those under the cursor are asked for apart.
function query() {
  const { layer, plane, params } = state;
  const dims = [plane.channels, plane.rows, plane.columns].filter((dim) => dim !== null);
  const words = new URLSearchParams({ dims: dims.join(",") });
  const at = Object.entries(plane.at).filter(([dim]) => !dims.includes(Number(dim)));
  if (at.length) words.set("at", at.map(([dim, value]) => `${dim}:${value}`).join(","));
  settings(words, params);
  const exact = words.toString();
  if (coloured()) words.set("range", lookOf(layer).range.join(".."));
  return { layer: layer.name, exact, words: words.toString() };
}

function coloured() { return !!state.plane && state.plane.channels !== null; }

function settings(words, params) {
  for (const name of Object.keys(params).sort()) words.append("set", `${name}=${params[name]}`);
  return words;
}

// Takes note that other elements are to be seen.
function reset() {
  if (!state.layer) return;
  state.address = query();
  const setOf = (words) => `${state.script.digest} ${state.address.layer} ${words}`;
  const set = setOf(state.address.words);
  state.exact = setOf(state.address.exact);
  if (set !== state.set) {
    if (tiles.of(state.set).length) state.before = state.set;
    state.set = set;
  }
  const looks = lookOf(state.layer);
  palette.set(looks.map, looks.range);
  state.fitting = !looks.range;
  show();
  later();
}

function lookOf(layer) {
  const channels = coloured() ? 3 : 1;
  return (state.looks[`${layer.name} ${channels}`] ??= {
    map: layer.colormap ?? (layer.element === "bool" ? "grey" : "viridis"),
    range: layer.range ?? naturalRange(layer.element, channels),
  });
}

function show() {
  const program = state.script.program;
  document.title = `${state.layer.name} · ${fileName()}`;
  panel.showLayers(program.layers, state.layer.name, choose);
  panel.showDims(state.layer, state.plane, (plane) => { state.plane = tidy(plane); reset(); });
  panel.showParams(program.params, state.own, state.params, turn);
  $("maps").hidden = $("ramp").hidden = coloured();
  panel.showMaps(palette.maps, palette.name, (map) => look({ map }));
  panel.showRange(palette.range, (range) => look({ range }));
}

function fileName() { return state.script.name.split(/[/\\]/).at(-1); }

function look(change) {
  if (!state.layer) return;
  Object.assign(lookOf(state.layer), change);
  if (coloured()) return reset();
  const looks = lookOf(state.layer);
  palette.set(looks.map, looks.range);
  panel.showMaps(palette.maps, palette.name, (map) => look({ map }));
  panel.showRange(palette.range, (range) => look({ range }));
  later();
}

function choose(name) {
  const layer = state.script.program.layers.find((one) => one.name === name);
  if (!layer || layer === state.layer) return;
  const same = state.layer && layer.dims.length === state.layer.dims.length;
  const plane = same ? state.plane : firstPlane(layer);
  state.layer = layer;
  state.plane = tidy(plane);
  if (away()) home();
  reset();
}

const named = ({ label }) => ["c", "ch", "channel", "channels", "rgb", "rgba", "colour", "color"].includes(label);

// Rows and columns by their names, else the last two; three or four channels are colours.
function firstPlane(layer) {
  const find = (label) => layer.dims.findIndex((dim) => dim.label === label);
  const count = layer.dims.length;
  let [rows, columns] = [find("y"), find("x")];
  if (rows < 0 || columns < 0) [rows, columns] = [count - 2, count - 1];
  const colours = layer.dims.findIndex((dim, at) => at !== rows && at !== columns && panel.isColour(dim) && named(dim));
  return { rows: count > 1 ? rows : null, columns, channels: count > 2 && colours >= 0 ? colours : null, at: {} };
}

// No dimension is used twice, and every cut lies inside.
function tidy(plane) {
  const { dims } = state.layer;
  if ([plane.rows, plane.columns, plane.channels].some((at) => at >= dims.length || Number.isNaN(at))) plane = firstPlane(state.layer);
  const next = { ...plane, at: {} };
  if (dims.length === 1) Object.assign(next, { rows: null, columns: 0, channels: null });
  else if (next.rows === next.columns) next.rows = dims.findIndex((_, at) => at !== next.columns);
  if ([next.rows, next.columns].includes(next.channels)) next.channels = null;
  if (next.channels !== null && !panel.isColour(dims[next.channels] ?? {lower: null})) next.channels = null;
  for (const [at, value] of Object.entries(plane.at)) {
    const number = bigint(value), dim = dims[at];
    if (!dim || number === null) continue;
    const low = dim.lower === null || number >= BigInt(dim.lower), high = dim.upper === null || number < BigInt(dim.upper);
    if (low && high) next.at[at] = String(number);
  }
  return next;
}

// ---- parameters and the script -------------------------------------------------------------------------------

let turned;
function turn(name, value) {
  const param = state.own.find((one) => one.name === name);
  if (value === param?.value) delete state.params[name];
  else state.params[name] = value;
  clearTimeout(turned);
  turned = setTimeout(() => { reset(); describe(); }, 40);
}

// What /script says under some parameters: { script }, or { why } it is refused, or null if nobody answers.
async function ask(params) {
  const response = await fetch(`/script?${settings(new URLSearchParams(), params)}`).catch(() => null);
  if (!response) return null;
  return response.ok ? { script: await response.json() } : { why: await response.text() };
}

// Asks again because parameters have other values.
let asking = 0;
async function describe() {
  const turn = ++asking;
  const told = await ask(state.params);
  if (turn !== asking || !told) return;
  note(told.why ?? "");
  if (told.script) take(told.script);
}

// Asks again because the script was read again: parameters that it has no more are forgotten first, and values that it
// does not take are told, the rest being what the script says.
async function reread() {
  const turn = ++asking;
  const plain = (await ask({}))?.script;
  if (turn !== asking || !plain) return;
  state.own = plain.program?.params ?? [];
  state.params = known(state.params);
  const told = Object.keys(state.params).length ? await ask(state.params) : { script: plain };
  if (turn !== asking || !told) return;
  state.number = plain.number;
  note(told.why ?? "");
  take(told.script ?? plain);
}

// Those of some parameters that the script has.
function known(params) {
  return Object.fromEntries(Object.entries(params).filter(([name]) => state.own.some((param) => param.name === name)));
}

function take(script) {
  const old = state.script;
  state.script = script;
  script.program ??= old?.program;
  panel.showTrouble(script.diagnostics);
  $("name").textContent = fileName();
  $("name").title = script.name;
  if (!script.program) return;
  const { layers } = script.program;
  if (old?.digest !== script.digest) tiles.forgive();
  if (layers.length === 0) return nothing();
  if (!state.layer) return first(layers);
  state.layer = layers.find((one) => one.name === state.layer.name) ?? pick(layers);
  state.plane = tidy(state.plane);
  if ($("pipeline").open) drawGraph();
  reset();
}

// The script has nothing that can be seen. The address stays: it is read again once there is something.
function nothing() {
  [saving, turned].forEach(clearTimeout);
  Object.assign(state, { layer: null, plane: null, set: "", exact: "", before: "" });
  tiles.want([]);
  panel.clear();
  clear();
  document.title = fileName();
  for (const part of ["coords", "value", "busy"]) $(part).textContent = "";
  document.body.dataset.missing = 0;
  note("the script has no tensor to look at");
}

async function listen() {
  for (let lost = false; ;) {
    const response = await fetch(`/news?after=${lost ? "" : state.number}`).catch(() => null);
    const news = response?.ok ? await response.json().catch(() => null) : null;
    if (!news) note("the server does not answer");
    // A server that was away may have come back with another script under the same number.
    else if (lost || news.number !== state.number) await reread();
    // What was not answered is asked again after a while, not at once.
    if (news?.number !== state.number) await new Promise((go) => setTimeout(go, news ? 200 : 1000));
    lost = !news;
  }
}

function note(text) {
  $("note").textContent = text.trim().split("\n")[0];
  $("note").title = text;
}

// ---- where it is shown ---------------------------------------------------------------------------------------

// The first view: what the address says, else home.
function first(layers) {
  const wanted = readAddress();
  state.params = known(wanted.params);
  const given = layers.find((one) => one.name === wanted.layer);
  state.layer = given ?? pick(layers);
  const opening = given ? null : state.script.program.opening;
  state.plane = tidy({ ...firstPlane(state.layer), ...openingPlane(opening), ...planeOf(wanted) });
  const range = wanted.range?.split("..").map(Number);
  if (range?.length === 2 && range.every(Number.isFinite)) lookOf(state.layer).range = range;
  if (palette.maps[wanted.map]) lookOf(state.layer).map = wanted.map;
  const [row, column, zoom] = [bigint(wanted.y), bigint(wanted.x), Number(wanted.z)];
  if (row === null || column === null || !Number.isFinite(zoom)) fill(bounds(opening?.region));
  else { camera.goTo([row, column]); camera.zoom = Math.min(CLOSEST, Math.max(-52, zoom)); }
  reset();
  if (Object.keys(state.params).length) describe();
}

// What the first output is written of, else the last plane of the script.
function pick(layers) {
  const planes = layers.filter((layer) => layer.dims.length > 1 && layer.kind !== "view");
  return layers.find((layer) => layer.name === state.script.program.opening?.layer) ?? planes.at(-1) ?? layers[0];
}

// Rows, columns and colours of the first output, its other dimensions where it cuts them or begins.
function openingPlane(opening) {
  if (!opening?.dims.length) return {};
  const { dims, region } = opening;
  const plane = { rows: dims.at(-2) ?? null, columns: dims.at(-1) };
  const colours = firstPlane(state.layer).channels;
  plane.channels = dims.length === 3 ? dims[0] : colours in region && !dims.includes(colours) ? colours : null;
  const shown = Object.values(plane);
  const begins = Object.entries(region).filter(([dim]) => !shown.includes(Number(dim))).map(([dim, [lower]]) => [dim, lower]);
  return { ...plane, at: { ...Object.fromEntries(begins), ...opening.at } };
}

function planeOf({ dims, at }) {
  const named = (name) => {
    const found = state.layer.dims.findIndex((dim) => dim.label === name);
    return found >= 0 ? found : Number(name);
  };
  const plane = Object.keys(at).length ? { at: Object.fromEntries(Object.entries(at).map(([name, value]) => [named(name), value])) } : {};
  const places = dims?.split(",").map(named);
  if (places?.length === 2) Object.assign(plane, { channels: null, rows: places[0], columns: places[1] });
  if (places?.length === 3) Object.assign(plane, { channels: places[0], rows: places[1], columns: places[2] });
  return plane;
}

function home() {
  if (state.layer) fill(bounds());
}

// Whether the layer ends before the screen begins, or begins after it.
function away() {
  return bounds().some(({ lower, upper }, way) =>
    (upper !== null && camera.toCell(0.5, way) >= BigInt(upper)) ||
    (lower !== null && camera.toCell(camera.size[way] - 0.5, way) < BigInt(lower)));
}

// Where rows and columns begin and end: those of a region, as far as it says, else those of the layer.
function bounds(region = {}) {
  return [state.plane.rows, state.plane.columns].map((at) => {
    if (at === null) return { lower: "0", upper: "1" };
    const [lower, upper] = region[at] ?? [];
    return lower === undefined ? state.layer.dims[at] : { lower, upper };
  });
}

// All of it if it ends, else one pixel per element around 0.
function fill(dims) {
  const cell = dims.map(({ lower, upper }) => {
    if (lower === null || upper === null) return lower !== null ? BigInt(lower) : upper !== null ? BigInt(upper) : 0n;
    return (BigInt(lower) + BigInt(upper)) / 2n;
  });
  const room = [innerHeight - 120, innerWidth - ($("panel").hidden ? 60 : 340)];
  const fits = dims.map(({ lower, upper }, way) => (lower === null || upper === null ? 0
    : Math.log2(room[way] / Math.max(1, Number(BigInt(upper) - BigInt(lower))))));
  const ends = dims.some(({ lower, upper }) => lower !== null && upper !== null);
  camera.goTo(cell);
  camera.part = [0, 0];
  camera.zoom = ends ? Math.min(5, ...fits) : 0;
  if (ends && !$("panel").hidden) camera.moveBy([0, -130]);
  later();
}

let saving;
function save() {
  clearTimeout(saving);
  saving = setTimeout(() => {
    const { layer, plane, params } = state;
    const dims = [plane.channels, plane.rows, plane.columns].filter((dim) => dim !== null);
    const looks = lookOf(layer);
    writeAddress({
      layer: layer.name, y: camera.cell[0], x: camera.cell[1], z: Number(camera.zoom.toFixed(3)),
      dims: dims.map((dim) => panel.name(layer, dim)).join(","),
      map: looks.map, range: looks.range ? looks.range.join("..") : null, params,
      at: Object.fromEntries(Object.entries(plane.at).map(([dim, value]) => [panel.name(layer, dim), value])),
    });
  }, 250);
}

// ---- tiles ---------------------------------------------------------------------------------------------------

// log2 of the distance between the elements that are shown, one per pixel of the device.
function level() {
  return Math.max(0, Math.round(-camera.zoom - Math.log2(devicePixelRatio)));
}

// Tiles of a level that the screen shows, and those around it, nearest to the middle first.
function covering(k, samples, margin) {
  const side = BigInt(samples) << BigInt(k);
  // Half a pixel in: what is less is not drawn.
  const [top, left] = [0, 1].map((way) => floorDiv(camera.toCell(0.5, way), side) - margin);
  const [bottom, right] = [0, 1].map((way) => floorDiv(camera.toCell(camera.size[way] - 0.5, way), side) + margin);
  const found = [];
  for (let row = top; row <= bottom; row++) {
    for (let column = left; column <= right; column++) {
      const far = [row, column].map((number, way) => camera.toScreen(number * side + side / 2n, way) - camera.size[way] / 2);
      found.push({ k, side: samples, row, column, far: Math.hypot(...far) });
    }
  }
  return found.filter(inside).sort((a, b) => a.far - b.far);
}

// Whether the layer has anything in a tile.
function inside({ k, side: samples, row, column }) {
  return [row, column].every((number, way) => {
    const at = way === 0 ? state.plane.rows : state.plane.columns;
    const { lower, upper } = at === null ? { lower: "0", upper: "1" } : state.layer.dims[at];
    const side = BigInt(samples) << BigInt(k);
    return (upper === null || number * side < BigInt(upper)) && (lower === null || (number + 1n) * side > BigInt(lower));
  });
}

function wish(one, kind) {
  const { layer, words, exact } = state.address;
  const own = kind === "exact" ? { words: exact, set: state.exact } : { words, set: state.set };
  return { ...one, key: keyOf(one, own.set), address: `/tiles/${layer}/${-one.k}`, ...own, kind, ...paces() };
}

function keyOf({ k, side, row, column }, set = state.set) { return `${set} ${k} ${side} ${row} ${column}`; }

// The tile of a size that a cell lies in.
function tileAt(cell, k, side) {
  const [row, column] = cell.map((one) => floorDiv(one, BigInt(side) << BigInt(k)));
  return { k, side, row, column };
}

// What tiles are timed by: one for all levels that leave elements out, and one for that which does not.
function paces() {
  const [near, far] = [`${state.layer.name} near`, `${state.layer.name} far`];
  return { near, pace: level() > 0 ? far : near };
}

// Rough tiles first where there is nothing yet, then the sharp ones, then their neighbours; where sharp ones take long,
// tiles come before them that are a quarter as sharp.
function wishes() {
  const k = level();
  const sharp = covering(k, SIDE, 0n);
  const pace = tiles.pace(paces().pace);
  const useless = pace.sharp > 0 && pace.rough > 3 * pace.sharp;
  const bare = sharp.some((tile) => !hasAny(tile)) && !useless;
  const slow = pace.sharp > SLOW;
  const middle = slow && sharp.some((tile) => !tiles.get(keyOf(tile))) ? covering(k + 2, SIDE, 0n) : [];
  const rough = bare || state.fitting ? covering(k + COARSER, ROUGH, 0n) : [];
  const fitting = coloured() && state.fitting ? rough : [];
  const known = new Set(sharp.map(keyOf));
  const around = slow ? [] : covering(k, SIDE, 2n).filter((one) => !known.has(keyOf(one)));
  return [...[...elements(k), ...fitting].map((one) => wish(one, "exact")),
    ...rough.map((one) => wish(one, "rough")), ...middle.map((one) => wish(one, "middle")), ...sharp.map((one) => wish(one, "sharp")),
    ...around.map((one) => wish(one, "around")), ...ahead(k).map((one) => wish(one, "ahead"))];
}

// Where colours are shown, the elements that are told in numbers: under the cursor, or all that have room for them.
function elements(k) {
  if (!coloured()) return [];
  if (camera.scale >= NUMBERS) return covering(0, SMALL, 0n);
  return state.cursor ? [tileAt([0, 1].map((way) => camera.toCell(state.cursor[way], way)), k, SMALL)].filter(inside) : [];
}

// One tile of each level that the next step of the wheel asks for: the server has code for it then. Only where tiles
// are so quick that code is what the first of a level waits for.
function ahead(k) {
  const { pace } = paces();
  const { sharp } = tiles.pace(pace);
  if (!sharp || sharp > QUICK || tiles.shares(pace)) return [];
  const levels = [[k + 1, SIDE], [k + 1 + COARSER, ROUGH], [k - 1, SIDE]];
  return levels.filter(([one]) => one >= 0 && one <= FARTHEST_LEVEL).flatMap(([one, side]) => covering(one, side, 0n).slice(0, 1));
}

// Whether a tile, or a coarser one where it is, is there.
function hasAny({ k, row, column }) {
  for (let up = 0; up <= 5; up++) {
    const [above, left] = [row, column].map((number) => number >> BigInt(up));
    if (tiles.get(keyOf({ k: k + up, side: SIDE, row: above, column: left }))) return true;
  }
  const wide = BigInt((ROUGH << COARSER) / SIDE); // sharp tiles along a rough one
  return !!tiles.get(keyOf({ k: k + COARSER, side: ROUGH, row: floorDiv(row, wide), column: floorDiv(column, wide) }));
}

// The range of a layer that has none: that of the coarse tiles that cover the view, or of the sharp ones.
function settle() {
  if (!state.fitting || !state.layer) return;
  for (const [k, side] of [[level() + COARSER, ROUGH], [level(), SIDE]]) {
    const needed = covering(k, side, 0n).map((one) => tiles.get(keyOf(one, state.exact)));
    if (needed.length === 0 || !needed.every(Boolean)) continue;
    state.fitting = false;
    return look({ range: rangeOf(needed) ?? [0, 1] });
  }
}

function fit() {
  if (coloured()) {
    state.fitting = true;
    settle();
    return later();
  }
  const shown = tiles.of(state.set).filter(({ k }) => k === level()).filter(visible);
  const range = rangeOf(shown);
  if (range) look({ range });
}

// ---- drawing -------------------------------------------------------------------------------------------------

let frame = 0;
function later() {
  if (!frame) frame = requestAnimationFrame(draw);
}

// Tiles have arrived: the last one is shown at once, others a few at a time, since every frame draws all of them.
let arrivals = 0;
function arrived() {
  settle();
  if (tiles.missing() === 0) return later();
  arrivals ||= setTimeout(() => { arrivals = 0; later(); }, 200);
}

function rectOf({ k, rows, columns, first }) {
  const step = 1n << BigInt(k), ratio = devicePixelRatio;
  const [from, size] = [first, [rows, columns]];
  const edges = [0, 1].map((way) => {
    const near = camera.toScreen(from[way] * step, way);
    return [near, near + size[way] * Number(step) * camera.scale].map((edge) => Math.round(edge * ratio));
  });
  return { y: edges[0][0], x: edges[1][0], height: edges[0][1] - edges[0][0], width: edges[1][1] - edges[1][0] };
}

function visible(tile) {
  const { x, y, width, height } = rectOf(tile);
  return x < canvas.width && y < canvas.height && x + width > 0 && y + height > 0;
}

function picture(tile, budget) {
  if (tile.rows === 0 || tile.columns === 0) return null;
  if (tile.painted === palette.version || (tile.picture && performance.now() > budget)) return tile.picture;
  tile.picture ??= new OffscreenCanvas(tile.columns, tile.rows);
  tile.picture.getContext("2d").putImageData(palette.paint(tile), 0, 0);
  tile.painted = palette.version;
  return tile.picture;
}

function draw() {
  frame = 0;
  if (!state.layer) return;
  resize();
  tiles.want(wishes());
  const budget = performance.now() + 24;
  const k = level();
  clear();
  const complete = tiles.missing() === 0;
  if (complete) state.before = "";
  // From coarse to fine, what is finer than the screen below the level that fits it; the old set below everything.
  const order = (tile) => (tile.k > k ? -tile.k : tile.k < k ? tile.k - k : 1);
  const own = tiles.of(state.set).filter(({ k: one }) => !complete || one === k);
  for (const set of [state.before ? tiles.of(state.before) : [], own]) {
    for (const tile of set.filter(visible).sort((a, b) => order(a) - order(b))) paint(tile, budget);
  }
  values();
  status();
  save();
  const stale = tiles.of(state.set).some((tile) => visible(tile) && tile.picture && tile.painted !== palette.version);
  if (stale) later();
}

function clear() {
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--empty");
  context.fillRect(0, 0, canvas.width, canvas.height);
}

function paint(tile, budget) {
  const image = palette.range || tile.channels > 1 ? picture(tile, budget) : null;
  if (!image) return;
  const { x, y, width, height } = rectOf(tile);
  const wide = width / tile.columns;
  context.imageSmoothingEnabled = tile.k > level() || (wide !== 1 && wide < 2);
  context.drawImage(image, x, y, width, height);
}

// The numbers themselves, where elements are large enough to hold them.
function values() {
  const size = camera.scale;
  if (size < NUMBERS || palette.range === null) return;
  const ratio = devicePixelRatio;
  context.save();
  context.scale(ratio, ratio);
  context.font = `${Math.min(15, size / 5)}px system-ui, sans-serif`;
  const digits = Math.max(3, Math.floor(size / 16));
  context.textAlign = "center";
  context.textBaseline = "middle";
  const ends = [0, 1].map((way) => [camera.toCell(0, way), camera.toCell(camera.size[way], way)]);
  for (let row = ends[0][0]; row <= ends[0][1]; row++) {
    for (let column = ends[1][0]; column <= ends[1][1]; column++) {
      const found = at([row, column]);
      if (!found || found.tile.k !== 0) continue;
      const [r, g, b] = palette.css(found.tile, found.index).match(/\d+/g).map(Number);
      context.fillStyle = 0.3 * r + 0.6 * g + 0.1 * b > 128 ? "#000c" : "#fffd";
      const lines = spoken(found, digits).split(" ");
      lines.forEach((line, i) => context.fillText(line, camera.toScreen(column, 1) + size / 2,
        camera.toScreen(row, 0) + size / 2 + (i - (lines.length - 1) / 2) * size / 4));
    }
  }
  context.restore();
}

function resize() {
  const ratio = devicePixelRatio;
  camera.size = [innerHeight, innerWidth];
  const [width, height] = [Math.round(innerWidth * ratio), Math.round(innerHeight * ratio)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
}

// ---- what is under the cursor --------------------------------------------------------------------------------

// The finest element that is known at a cell: itself, or the one that stands for it when it is one of many.
function at(cell) {
  for (let k = 0; k <= level() + 6; k++) {
    const step = 1n << BigInt(k);
    const sample = cell.map((one) => floorDiv(one, step));
    const look = (side) => tiles.get(keyOf(tileAt(cell, k, side), state.exact));
    const tile = look(SIDE) ?? look(ROUGH) ?? look(SMALL);
    if (!tile) continue;
    const [row, column] = sample.map((number, way) => Number(number - tile.first[way]));
    if (row < 0 || column < 0 || row >= tile.rows || column >= tile.columns) continue;
    return { tile, index: row * tile.columns + column, cell: sample.map((number) => number * step) };
  }
  return null;
}

// An element in words: as many digits as tell it from its neighbours, unless there is room for fewer.
function spoken({ tile, index }, most = 17) {
  const plane = tile.rows * tile.columns;
  const single = tile.values instanceof Float32Array;
  const one = (value) => {
    if (state.layer.element === "bool") return String(value !== 0);
    if (typeof value === "bigint" || Number.isInteger(value) || !Number.isFinite(value)) return String(value);
    for (let digits = Math.min(most, 6); single && digits < Math.min(most, 9); digits++) {
      const text = value.toPrecision(digits);
      if (Math.fround(Number(text)) === value) return String(Number(text));
    }
    return most < 17 || single ? String(Number(value.toPrecision(Math.min(most, 9)))) : String(value);
  };
  return Array.from({ length: tile.channels }, (_, c) => one(tile.values[c * plane + index])).join(" ");
}

function status() {
  const missing = tiles.missing();
  $("busy").textContent = missing ? `${missing} to come` : "";
  document.body.dataset.missing = missing;
  const failed = tiles.wishes.map(({ key }) => tiles.failed.get(key)).find(Boolean);
  const told = failed ?? (away() ? `nothing of ${state.layer.name} is here: press h to go where it is` : "");
  if (told || $("note").dataset.told) note(told);
  $("note").dataset.told = told ? "1" : "";
  const cell = state.cursor ? [0, 1].map((way) => camera.toCell(state.cursor[way], way)) : camera.cell;
  const found = state.cursor && at(cell);
  const [row, column] = found ? found.cell : cell;
  const label = (dim) => (dim === null ? "" : `${panel.name(state.layer, dim)} ${grouped(dim === state.plane.rows ? row : column)}`);
  $("coords").textContent = [label(state.plane.rows), label(state.plane.columns)].filter(Boolean).join("   ");
  $("value").textContent = found ? spoken(found) : "";
  $("swatch").style.visibility = found ? "visible" : "hidden";
  if (found) $("swatch").style.background = palette.css(found.tile, found.index);
  scaleBar();
}

function grouped(number) {
  const digits = String(number < 0n ? -number : number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return number < 0n ? `−${digits}` : digits;
}

// A bar of 1, 2 or 5 times a power of ten elements.
function scaleBar() {
  const room = 110 / camera.scale;
  const power = 10 ** Math.floor(Math.log10(room));
  const count = Math.max(1, [5, 2, 1].find((times) => times * power <= room) * power);
  $("scale").firstElementChild.style.width = `${Math.min(240, count * camera.scale)}px`;
  $("scale").lastElementChild.textContent = count >= 1e6 ? count.toExponential().replace("e+", "·10^").replace(/^1·/, "") : `${grouped(BigInt(count))} element${count > 1 ? "s" : ""}`;
}

// ---- the user ------------------------------------------------------------------------------------------------

const fingers = new Map();
canvas.onpointerdown = (event) => {
  canvas.setPointerCapture(event.pointerId);
  canvas.focus();
  fingers.set(event.pointerId, [event.clientY, event.clientX]);
  canvas.classList.add("dragging");
};
canvas.onpointermove = (event) => {
  const now = [event.clientY, event.clientX];
  const last = fingers.get(event.pointerId);
  state.cursor = now;
  if (last) {
    if (fingers.size === 2) pinch(event.pointerId, now);
    else camera.moveBy([last[0] - now[0], last[1] - now[1]]);
    fingers.set(event.pointerId, now);
  }
  later();
};
canvas.onpointerup = canvas.onpointercancel = (event) => {
  fingers.delete(event.pointerId);
  canvas.classList.toggle("dragging", fingers.size > 0);
};
canvas.onpointerleave = () => { state.cursor = null; later(); };

function pinch(moved, now) {
  const [other] = [...fingers].filter(([id]) => id !== moved).map(([, place]) => place);
  const before = fingers.get(moved);
  const apart = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]) || 1;
  camera.zoomAt(camera.zoom + Math.log2(apart(now) / apart(before)), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
}

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const lines = event.deltaMode === 1 ? 24 : event.deltaMode === 2 ? 400 : 1;
  zoom(-event.deltaY * lines / (event.ctrlKey ? 60 : 240), [event.clientY, event.clientX]);
}, { passive: false });

function zoom(by, pixel = [camera.size[0] / 2, camera.size[1] / 2]) {
  camera.zoomAt(camera.zoom + by, pixel);
  later();
}

function step(by) { zoom(Math.round(camera.zoom) + by - camera.zoom); }

function goTo(text) {
  const [row, column] = text.split(/[,;]/).map(bigint);
  if (row === null || column === null || column === undefined) return note("write two whole numbers: y, x");
  note("");
  camera.goTo([row, column]);
  later();
}

function cycle(list, now, by) { return list[(list.indexOf(now) + by + list.length) % list.length]; }

function toggleTheme() {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("theme", theme); } catch { /* the page works without */ }
  later();
}

function togglePanel() {
  $("panel").hidden = !$("panel").hidden;
  $("show").hidden = !$("panel").hidden;
}

function drawGraph() { $("drawing").src = `/graph.svg?${settings(new URLSearchParams({ of: state.script.digest }), state.params)}`; }

function openGraph() {
  drawGraph();
  $("pipeline").showModal();
}

// What a dialog was opened with closes it, and another one takes its place.
const sheets = { g: "pipeline", "?": "keys" };

function leaveSheet(key) {
  const open = document.querySelector("dialog[open]");
  if (open && sheets[key]) open.close();
  return open && open.id === sheets[key];
}

const pan = (down, right) => { camera.moveBy([down * 96, right * 96]); later(); };
const layerNames = () => state.script.program.layers.map(({ name }) => name);
const keys = {
  ArrowUp: () => pan(-1, 0), ArrowDown: () => pan(1, 0), ArrowLeft: () => pan(0, -1), ArrowRight: () => pan(0, 1),
  "+": () => step(1), "=": () => step(1), "-": () => step(-1), "0": () => zoom(-camera.zoom), h: home, a: fit, g: openGraph,
  c: () => look({ map: cycle(Object.keys(palette.maps), palette.name, 1) }), t: toggleTheme, p: togglePanel,
  "[": () => choose(cycle(layerNames(), state.layer.name, -1)), "]": () => choose(cycle(layerNames(), state.layer.name, 1)),
  "?": () => $("keys").showModal(), "/": () => $("place").focus(),
};

addEventListener("keydown", (event) => {
  if (event.key === "Escape") { document.activeElement.blur?.(); return; }
  const typing = ["INPUT", "SELECT"].includes(event.target.tagName) && event.target.type !== "checkbox";
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !state.layer) return;
  if (leaveSheet(event.key)) return event.preventDefault();
  if (document.querySelector("dialog[open]")) return;
  const action = keys[event.key] ?? (/^[1-9]$/.test(event.key) ? () => choose(layerNames()[event.key - 1]) : null);
  if (!action) return;
  event.preventDefault();
  action();
});

$("goto").onsubmit = (event) => { event.preventDefault(); goTo($("place").value); canvas.focus(); };
$("in").onclick = () => step(1);
$("out").onclick = () => step(-1);
$("home").onclick = home;
$("graph").onclick = openGraph;
$("theme").onclick = toggleTheme;
$("help").onclick = () => $("keys").showModal();
$("hide").onclick = $("show").onclick = togglePanel;
$("auto").onclick = fit;
$("reset").onclick = () => { state.params = {}; reset(); describe(); };
for (const dialog of document.querySelectorAll("dialog")) dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
addEventListener("resize", later);
addEventListener("hashchange", () => { if (state.script?.program) first(state.script.program.layers); });

// ---- beginning -----------------------------------------------------------------------------------------------

function firstTheme() {
  let theme = null;
  try { theme = localStorage.getItem("theme"); } catch { /* the page works without */ }
  document.documentElement.dataset.theme = theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

firstTheme();
palette = new Palette(await (await fetch("/colormaps")).json());
resize();
await reread();
listen();
