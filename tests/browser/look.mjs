// Pictures of the viewer, for people: node look.mjs URL FOLDER NAME [hash] [WxH] [ratio] [dark] [key…]

import { open } from "./browser.mjs";

const [url, folder, name, hash = "", size = "1280x800", ratio = "1", dark = "", ...keys] = process.argv.slice(2);
const [width, height] = size.split("x").map(Number);
const start = Date.now();
const page = await open(url + hash, { width, height, ratio: Number(ratio), dark: dark === "dark" });
try {
  await page.until("document.body.dataset.missing !== undefined", "the first frame");
  const first = Date.now() - start;
  await page.sharp();
  const sharp = Date.now() - start;
  for (const key of keys) await page.key(key);
  await page.mouse("mouseMoved", width * 0.6, height * 0.45);
  await new Promise((go) => setTimeout(go, 400));
  await page.sharp();
  await page.screenshot(`${folder}/${name}.png`);
  console.log(`${name}: first frame ${first} ms, sharp ${sharp} ms`, page.problems.join("; "));
} finally {
  await page.close();
}
