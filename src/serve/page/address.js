// The view <-> the part of the address after `#`, so that a copied address shows the same again.

export function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  const view = { params: {}, at: {} };
  for (const [name, value] of words) {
    if (name.startsWith("set.")) view.params[name.slice(4)] = value;
    else if (name.startsWith("at.")) view.at[name.slice(3)] = value;
    else view[name] = value;
  }
  return view;
}

export function writeAddress(view) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(view)) {
    if (name === "params") for (const [param, now] of Object.entries(value)) words.set(`set.${param}`, now);
    else if (name === "at") for (const [dim, now] of Object.entries(value)) words.set(`at.${dim}`, now);
    else if (value !== undefined && value !== null) words.set(name, value);
  }
  history.replaceState(null, "", `#${words}`);
}

export function bigint(text) {
  try { return BigInt(String(text).replace(/[_\s]/g, "").replace("−", "-")); } catch { return null; }
}
