// The panel at the left: layers, dimensions, colours, parameters. It shows a state and tells what the user changes.

const $ = (id) => document.getElementById(id);

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// `f32[c: 3, y: inf, x: inf]` in short: f32 3×∞×∞
function shape(layer) {
  const size = ({ lower, upper }) => (lower === null || upper === null ? "∞" : String(BigInt(upper) - BigInt(lower)));
  return `${layer.element} ${layer.dims.map(size).join("×")}`;
}

export function showLayers(layers, chosen, choose) {
  $("layers").replaceChildren(...layers.map((layer) => {
    const button = element("button", { title: layer.doc || `${layer.kind} ${layer.name}` }, layer.name,
      element("small", {}, shape(layer)));
    button.setAttribute("role", "option");
    button.setAttribute("aria-selected", layer.name === chosen);
    button.onclick = () => choose(layer.name);
    return button;
  }));
}

// Which dimensions run down and right, and a slider for each of the others.
export function showDims(layer, plane, changed) {
  const others = layer.dims.length > 2 || plane.channels !== null;
  $("slicing").hidden = layer.dims.length < 2 || (!others && layer.dims.length < 3);
  if ($("slicing").hidden) return $("dims").replaceChildren();
  const rows = [axis("down", plane.rows, layer, (dim) => changed({ ...plane, rows: dim })),
    axis("right", plane.columns, layer, (dim) => changed({ ...plane, columns: dim }))];
  const colours = layer.dims.findIndex(isColour);
  if (colours >= 0 && layer.dims.length > 2) rows.push(colourChoice(layer, plane, colours, changed));
  layer.dims.forEach((dim, at) => {
    if ([plane.rows, plane.columns, plane.channels].includes(at)) return;
    rows.push(slider(name(layer, at), plane.at[at] ?? nearest(dim), bounds(dim), { step: 1, kind: "int" },
      (value) => changed({ ...plane, at: { ...plane.at, [at]: value } })));
  });
  $("dims").replaceChildren(...rows);
}

export function isColour(dim) {
  const size = dim.lower === null || dim.upper === null ? 0n : BigInt(dim.upper) - BigInt(dim.lower);
  return size === 3n || size === 4n;
}

export function name(layer, at) { return layer.dims[at].label || String(at); }

// 0, or the end nearest to it.
export function nearest(dim) {
  if (dim.lower !== null && BigInt(dim.lower) > 0n) return dim.lower;
  if (dim.upper !== null && BigInt(dim.upper) <= 0n) return String(BigInt(dim.upper) - 1n);
  return "0";
}

function bounds(dim) {
  const lower = dim.lower === null ? -512 : Number(dim.lower);
  const upper = dim.upper === null ? Math.max(512, lower + 1024) : Number(dim.upper) - 1;
  return [lower, upper];
}

function axis(label, now, layer, choose) {
  const select = element("select", {}, ...layer.dims.map((_, at) =>
    element("option", { value: at, selected: at === now, textContent: name(layer, at) })));
  select.onchange = () => choose(Number(select.value));
  return element("div", { className: "row" }, element("label", {}, label), select);
}

function colourChoice(layer, plane, dim, changed) {
  const box = element("input", { type: "checkbox", checked: plane.channels === dim });
  box.onchange = () => changed({ ...plane, channels: box.checked ? dim : null });
  return element("div", { className: "row" }, element("label", {}, `${name(layer, dim)} as colours`), box);
}

// A slider with a number beside it that takes any value.
function slider(label, value, [lower, upper], { step, kind, title, changed }, tell) {
  const number = element("input", { className: "number", value, spellcheck: false, ariaLabel: label });
  number.classList.toggle("changed", !!changed);
  const range = element("input", { type: "range", min: lower, max: upper, step, value: Number(value), ariaLabel: label });
  range.oninput = () => { number.value = kind === "int" ? range.value : trimmed(Number(range.value)); tell(number.value); };
  number.onchange = () => { range.value = Number(number.value); tell(number.value.trim()); };
  return element("div", { className: "row", title: title || "" }, element("label", {}, label), number, range);
}

// A float as the language writes it: with a point.
function trimmed(value) {
  const text = String(Number(value.toPrecision(6)));
  return /[.e]/.test(text) ? text : `${text}.0`;
}

// Nothing can be chosen.
export function clear() {
  for (const part of ["layers", "dims", "params"]) $(part).replaceChildren();
  $("slicing").hidden = $("parameters").hidden = true;
  $("params").dataset.shown = "";
}

// Parameters with the values that they have; `own` are those of the script, `now` the others.
export function showParams(params, own, now, tell) {
  $("parameters").hidden = params.length === 0;
  // A slider that is being moved stays what it is.
  const shown = JSON.stringify(own);
  if ($("params").contains(document.activeElement) && $("params").dataset.shown === shown) return;
  $("params").dataset.shown = shown;
  $("params").replaceChildren(...params.map((param) => {
    const value = now[param.name] ?? param.value;
    const change = (next) => tell(param.name, next);
    if (param.kind === "bool") return toggle(param, value, change);
    const reach = reachOf(own.find(({ name }) => name === param.name) ?? param, value);
    const options = { step: param.kind === "int" ? 1 : (reach[1] - reach[0]) / 400, kind: param.kind,
      title: param.doc, changed: param.name in now };
    return slider(param.name, value, reach, options, change);
  }));
}

function toggle(param, value, change) {
  const box = element("input", { type: "checkbox", checked: value === "true", ariaLabel: param.name });
  box.onchange = () => change(String(box.checked));
  return element("div", { className: "row", title: param.doc }, element("label", {}, param.name), box);
}

// From nothing to three times what the script says, or around it, and as far as it was ever turned.
const reaches = new Map();
function reachOf(param, value) {
  const script = Math.abs(Number(param.value)) || 1, now = Number(value);
  const reach = param.kind === "int" ? Math.max(10, 3 * script) : 3 * script;
  const key = `${param.name} ${param.kind} ${param.value}`;
  const [low, high] = reaches.get(key) ?? [Number(param.value) < 0 ? -reach : 0, reach];
  const wide = [Math.min(low, now), Math.max(high, now)];
  reaches.set(key, wide);
  return wide;
}

export function showMaps(maps, chosen, choose) {
  $("maps").replaceChildren(...Object.entries(maps).map(([name, colours]) => {
    const canvas = element("canvas", { width: 256, height: 1 });
    drawRamp(canvas, colours);
    const button = element("button", { title: name, ariaLabel: name }, canvas);
    button.setAttribute("role", "radio");
    button.setAttribute("aria-checked", name === chosen);
    button.onclick = () => choose(name);
    return button;
  }));
  drawRamp($("ramp"), maps[chosen]);
}

function drawRamp(canvas, colours) {
  const image = new ImageData(256, 1);
  colours.forEach(([r, g, b], i) => image.data.set([r, g, b, 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

export function showRange(range, tell) {
  const [low, high] = [$("low"), $("high")];
  if (document.activeElement !== low) low.value = range ? number(range[0]) : "";
  if (document.activeElement !== high) high.value = range ? number(range[1]) : "";
  const changed = () => {
    const ends = [Number(low.value), Number(high.value)];
    if (ends.every(Number.isFinite)) tell(ends);
  };
  low.onchange = high.onchange = changed;
}

export function number(value) {
  if (!Number.isFinite(value) || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(6)));
}

// What is wrong with the script, the last one that was right being shown on; mere remarks wait until they are asked for.
export function showTrouble(diagnostics) {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const [box, chip] = [$("trouble"), $("remarks")];
  box.hidden = errors.length === 0;
  chip.hidden = diagnostics.length === 0 || errors.length > 0;
  chip.textContent = diagnostics.length === 1 ? "1 remark" : `${diagnostics.length} remarks`;
  chip.onclick = () => { box.hidden = !box.hidden; };
  box.classList.toggle("mild", errors.length === 0);
  const head = errors.length ? "The script has mistakes; the last version without any is shown" : "Remarks";
  box.replaceChildren(element("h2", {}, head), ...diagnostics.map(({ text }) => element("pre", {}, text)));
}
