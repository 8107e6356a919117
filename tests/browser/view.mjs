// The viewer in a real browser: node view.mjs URL SCRIPT
//
// SCRIPT is the file that the server at URL serves; it is saved with a mistake and mended again.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { open } from "./browser.mjs";

const [url, script] = process.argv.slice(2);
const page = await open(url);
const text = (id) => page.run(`document.getElementById("${id}").textContent`);
const reads = (id, expect) => page.until(`document.getElementById("${id}").textContent === ${JSON.stringify(expect)}`);

try {
  await page.sharp();
  assert.match(await page.run("document.title"), /^ramp · /);

  // It opens with the first output, 8 × 8 elements, as large as they are shown; its image is grey.
  await page.until("/layer=ramp&y=4&x=-?\\d+&z=5&.*map=grey&range=0..255/.test(location.hash)", "the first output");

  // At home the middle of the screen is element 0, 0: one pixel is one element.
  await page.key("h");
  await page.sharp();
  await page.mouse("mouseMoved", 460, 330);
  await reads("coords", "y 30   x 10");
  await reads("value", "30010");
  const pixel = await page.run("[...document.getElementById('map').getContext('2d').getImageData(700, 300, 1, 1).data].join()");
  assert.equal(pixel.split(",")[3], "255");

  // Dragging moves what is under the hand.
  await page.drag([450, 300], [650, 250]);
  await page.mouse("mouseMoved", 460, 330);
  await reads("coords", "y 80   x −190");
  await page.sharp();
  await reads("value", "79810");

  // The wheel zooms around the cursor, far out: a sample stands for many elements.
  await page.mouse("mouseWheel", 460, 330, { deltaX: 0, deltaY: 1440 });
  await page.until("/z=-6(&|$)/.test(location.hash)", "the address holds the zoom");
  await page.sharp();
  assert.ok(await page.run("document.getElementById('value').textContent !== ''"));

  // One tile of the level that the next step of the wheel shows is asked for ahead, so that the server has code for it.
  await page.until("performance.getEntriesByType('resource').some(({ name }) => name.includes('/tiles/ramp/-7/'))", "a tile of level 7");

  // 10^15 is as exact as 0.
  await page.key("0");
  await page.run("document.getElementById('place').value = '1_000_000_000_000_000, -5'; document.getElementById('goto').requestSubmit()");
  await page.mouse("mouseMoved", 451, 302);
  await reads("coords", "y 1\u202f000\u202f000\u202f000\u202f000\u202f002   x −4");
  await page.sharp();
  await page.until("/y=1000000000000000&x=-5/.test(location.hash)", "the address holds the place");

  // A copied address shows the same again.
  const hash = await page.run("location.hash");
  await page.send("Page.reload");
  await page.until("document.body.dataset.missing === '0' && document.title.startsWith('ramp')", "the page after a reload");
  await page.mouse("mouseMoved", 451, 302);
  await reads("coords", "y 1\u202f000\u202f000\u202f000\u202f000\u202f002   x −4");
  assert.equal(await page.run("location.hash"), hash);

  // Layers by number; a slice of three dimensions, with its index.
  await page.key("h");
  await page.key("2");
  await page.until("document.title.startsWith('stack')");
  await page.sharp();
  assert.equal(await page.run("document.querySelectorAll('#dims input[type=range]').length"), 1);
  await page.key("1");

  // Colours come as bytes; the elements under the cursor are told all the same, and so is what they are fitted to.
  await page.key("3");
  await page.until("document.title.startsWith('sheet')");
  await page.mouse("mouseMoved", 460, 330);
  await reads("value", "0.25 0.5 0.75");
  const colours = () => page.run("[...document.getElementById('map').getContext('2d').getImageData(700, 300, 1, 1).data].join()");
  await page.sharp();
  assert.equal(await colours(), "64,128,191,255");
  await page.key("a");
  await page.until("/range=0.25..0.75/.test(location.hash)", "the range of the colours that are seen");
  await page.sharp();
  assert.equal(await colours(), "0,128,255,255");
  await reads("value", "0.25 0.5 0.75");
  await page.key("1");

  // A parameter is turned, and the picture follows.
  await page.key("h");
  await page.run("{ const one = document.querySelector('#params input[type=range]'); one.value = 7; one.dispatchEvent(new Event('input')); }");
  await page.mouse("mouseMoved", 460, 330);
  await reads("value", "220");
  await page.until("/set.scale=7/.test(location.hash)", "the address holds the parameter");

  // Its slider goes as far as before when the script is saved.
  const track = () => page.run("[...document.querySelectorAll('#params input[type=range]')].map(({ ariaLabel, max, value }) => `${ariaLabel} ${value} of ${max}`).join()");
  assert.equal(await track(), "scale 7 of 3000");
  await page.run("document.activeElement.blur()");

  // Saved with a mistake: told, and the last picture stays. Mended: gone.
  const before = readFileSync(script, "utf8");
  writeFileSync(script, before.replace("scale * y", "scael * y"));
  await page.until("!document.getElementById('trouble').hidden", "the mistake is shown");
  assert.match(await text("trouble"), /unknown name `scael`/);
  writeFileSync(script, before.replace("scale * y", "scale * y + 5000"));
  await page.until("document.getElementById('trouble').hidden", "the mistake is gone");
  await reads("value", "5220");

  assert.equal(await track(), "scale 7 of 3000");

  // A parameter that was turned has another name now: its value is forgotten, here and in the address.
  await page.idle();
  const asked = page.requests.length;
  writeFileSync(script, before.replaceAll("scale", "factor"));
  await reads("value", "30010");
  assert.equal(await track(), "factor 1000 of 3000");
  await page.until("!/set\\./.test(location.hash)", "the address forgets the parameter");
  assert.equal(await text("note"), "");

  // Nothing to look at: the panel is empty, and so is the picture, until there is something again.
  await page.run("{ const one = document.querySelector('#params input[type=range]'); one.value = 7; one.dispatchEvent(new Event('input')); }");
  await page.until("/set.factor=7/.test(location.hash)", "the address holds the parameter");
  await page.idle();
  writeFileSync(script, "");
  await reads("note", "the script has no tensor to look at");
  assert.equal(await page.run("document.querySelectorAll('#layers button, #params input').length"), 0);
  assert.ok(await page.run("document.getElementById('trouble').hidden"));
  for (const key of ["h", "a", "c", "1"]) await page.key(key);
  await page.run("for (const id of ['home', 'auto', 'reset', 'in']) document.getElementById(id).click()");
  writeFileSync(script, before);
  await reads("value", "30010");
  await new Promise((go) => setTimeout(go, 1000));
  const count = page.requests.slice(asked).filter((one) => /script|news/.test(one)).length;
  assert.ok(count < 20, `${count} questions about three saved scripts`);

  // The pipeline, the keys, both themes.
  await page.key("g");
  await page.until("document.getElementById('drawing').naturalWidth > 50", "the pipeline is drawn");
  const sheets = () => page.run("[...document.querySelectorAll('dialog[open]')].map(({ id }) => id).join()");
  assert.equal(await sheets(), "pipeline");
  await page.key("?");
  assert.equal(await sheets(), "keys", "another sheet takes its place");
  await page.key("?");
  assert.equal(await sheets(), "", "the key that opened it closes it");
  const theme = await page.run("document.documentElement.dataset.theme");
  await page.key("t");
  assert.notEqual(await page.run("document.documentElement.dataset.theme"), theme);

  assert.deepEqual(page.problems, [], "nothing goes wrong in the page");

  // A slice of a stack opens where it is cut, whatever is declared before it.
  writeFileSync(script, "tensor before: f32[y: inf, x: inf] = y\n"
    + "tensor stack: f32[t: 0..6, k: 2, y: 0..64, x: 0..64] = if t == 5 and k == 1 then y + x else 0\n"
    + "output \"a.png\" = stack[5, 1, 16:48, :]\noutput \"b.png\" = before[0:8, 0:8] colormap terrain\n");
  await page.until("document.getElementById('layers').textContent.includes('before')", "the script is read");
  await page.send("Page.navigate", { url: "about:blank" });
  await page.send("Page.navigate", { url });
  await page.until("document.title.startsWith('stack')", "the first output's tensor");
  await page.sharp();
  await page.until("/map=grey/.test(location.hash) && /at.t=5&at.k=1$/.test(location.hash)", "its place is in the address");
  await page.until("/y=32&/.test(location.hash)", "its region is in the middle");

  // Where a layer has ended the page says so, and the way back; a layer that is chosen far from it is gone to.
  const go = (place) => page.run(`document.getElementById('place').value = '${place}'; document.getElementById('goto').requestSubmit()`);
  await go("1000000, 1000000");
  await reads("note", "nothing of stack is here: press h to go where it is");
  await page.key("h");
  await reads("note", "");
  await page.key("1");
  await page.until("document.title.startsWith('before')");
  await go("1000000, 1000000");
  await page.until("/y=1000000&/.test(location.hash)", "the place without end");
  assert.equal(await text("note"), "");
  await page.key("2");
  await page.until("/layer=stack&y=3\\d&/.test(location.hash)", "the layer that is not there");
  await page.sharp();

  const foreign = page.requests.filter((one) => !one.startsWith(new URL(url).origin) && !/^(data|blob|about):/.test(one));
  assert.deepEqual(foreign, [], "nothing is fetched from elsewhere");
  // Until the page hears of the new script it may ask for tiles of layers that are gone.
  const gone = (one) => /status of 404/.test(one) && !/\/tiles\/(before|stack)\//.test(one);
  assert.deepEqual(page.problems.filter((one) => !gone(one)), [], "nothing else goes wrong in the page");
  console.log("the viewer works");
} finally {
  await page.close();
}
