// How long views of the viewer take until they are sharp: node sharp.mjs URL [Y,X,ZOOM …]
//
// Each view is new to the page and, but for its code, to the server; 1280 × 800, as a person would jump to it.

import { open } from "./browser.mjs";

const [url, ...given] = process.argv.slice(2);
const views = given.length ? given.map((view) => view.split(",")) : [
  ["100000", "100000", "0"], ["0", "0", "-1"], ["0", "0", "-2"], ["70000", "50000", "-2"], ["0", "0", "-4"],
  ["1000000000000", "-1000000000000", "-4"], ["0", "0", "-10"], ["0", "0", "-20"], ["0", "0", "-40"],
];
const start = Date.now();
const page = await open(url, { width: 1280, height: 800 });
try {
  await page.until("document.body.dataset.missing === '0'", "the first view");
  // To be told of every piece that arrives costs a third of what the page does, and nobody who looks at it does that.
  await page.send("Network.disable");
  console.log(`first view, browser and page included: ${Date.now() - start} ms`);
  // After the page's own listener: what is missing is not known before the next frame.
  await page.run("var moved = false; addEventListener('hashchange', () => { moved = true; document.body.dataset.missing = '?'; })");
  for (const [y, x, z] of views) {
    // Neighbours of the last view are not to be in the way of this one.
    while (await page.run("fetch('/load').then((answer) => answer.json()).then((load) => Object.values(load).some((count) => count > 0))"));
    const begin = Date.now();
    await page.run(`moved = false;
      var words = new URLSearchParams(location.hash.slice(1));
      for (const [name, value] of [["y", "${y}"], ["x", "${x}"], ["z", "${z}"]]) words.set(name, value);
      location.hash = words;`);
    await page.until("moved && document.body.dataset.missing === '0'", "a sharp view");
    console.log(`zoom ${z} at ${y}, ${x}: ${Date.now() - begin} ms`);
  }
} finally {
  await page.close();
}
