// A headless Chromium, spoken to over a pipe: no packages, no port.
//
//   const page = await open("http://127.0.0.1:8017/", { width: 900, height: 600 });
//   await page.run("document.title")   ->   "hills · hills.itp"

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PATIENCE = Number(process.env.ITP_BROWSER_SECONDS ?? 60) * 1000;

export async function open(url, { width = 900, height = 600, ratio = 1, dark = false } = {}) {
  const profile = mkdtempSync(join(tmpdir(), "itp-browser-"));
  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", `--user-data-dir=${profile}`,
    "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update", "about:blank"];
  const child = spawn(process.env.CHROMIUM ?? "chromium", args, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const pipe = new Pipe(child.stdio[3], child.stdio[4]);
  const { targetInfos } = await pipe.send("Target.getTargets");
  const target = targetInfos.find(({ type }) => type === "page").targetId;
  const { sessionId } = await pipe.send("Target.attachToTarget", { targetId: target, flatten: true });
  const page = new Page(pipe, sessionId, child, profile);
  for (const domain of ["Page", "Runtime", "Network", "Log"]) await page.send(`${domain}.enable`);
  await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: ratio, mobile: false });
  await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
  await page.send("Page.navigate", { url });
  return page;
}

// Messages are JSON texts with a zero byte after each.
class Pipe {
  constructor(to, from) {
    this.to = to;
    this.count = 0;
    this.waiting = new Map();
    this.listeners = [];
    let rest = Buffer.alloc(0);
    from.on("data", (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) this.take(JSON.parse(rest.subarray(0, end)));
    });
  }

  take(message) {
    const waiting = this.waiting.get(message.id);
    if (!waiting) return this.listeners.forEach((listener) => listener(message));
    this.waiting.delete(message.id);
    if (message.error) waiting.fail(new Error(message.error.message));
    else waiting.done(message.result);
  }

  send(method, params = {}, sessionId) {
    const id = ++this.count;
    this.to.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((done, fail) => this.waiting.set(id, { done, fail }));
  }
}

class Page {
  constructor(pipe, session, child, profile) {
    Object.assign(this, { pipe, session, child, profile, requests: [], problems: [] });
    pipe.listeners.push(({ method, params }) => {
      if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
      if (method === "Runtime.exceptionThrown") this.problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Log.entryAdded" && params.entry.level === "error") this.problems.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    });
  }

  send(method, params) { return this.pipe.send(method, params, this.session); }

  // The value of an expression in the page.
  async run(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  // Waits until an expression is true; the milliseconds that took.
  async until(expression, what = expression) {
    const start = Date.now();
    while (!(await this.run(`!!(${expression})`).catch(() => false))) {
      if (Date.now() - start > PATIENCE) {
        const note = await this.run("document.getElementById('note')?.textContent + ' | ' + document.getElementById('busy')?.textContent").catch(() => "");
        throw new Error(`waited ${PATIENCE} ms for: ${what} (${note}) ${this.problems.join("; ")}`);
      }
      await new Promise((go) => setTimeout(go, 15));
    }
    return Date.now() - start;
  }

  // Waits until everything that is seen is sharp.
  sharp() { return this.until("document.body.dataset.missing === '0'", "all tiles"); }

  // Waits until nothing is asked for any more, what lies around the picture included.
  async idle() {
    for (let count = -1; count !== this.requests.length; await new Promise((go) => setTimeout(go, 400))) count = this.requests.length;
  }

  async key(key) {
    const text = key.length === 1 ? key : undefined;
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key });
  }

  mouse(type, x, y, more = {}) { return this.send("Input.dispatchMouseEvent", { type, x, y, ...more }); }

  async drag(from, to, steps = 8) {
    await this.mouse("mousePressed", ...from, { button: "left", clickCount: 1 });
    for (let i = 1; i <= steps; i++) {
      const place = [0, 1].map((way) => from[way] + ((to[way] - from[way]) * i) / steps);
      await this.mouse("mouseMoved", ...place, { button: "left", buttons: 1 });
    }
    await this.mouse("mouseReleased", ...to, { button: "left", clickCount: 1 });
  }

  async screenshot(path) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    writeFileSync(path, Buffer.from(data, "base64"));
  }

  async close() {
    await Promise.race([this.pipe.send("Browser.close").catch(() => {}), new Promise((go) => setTimeout(go, 3000))]);
    const gone = new Promise((go) => this.child.once("exit", go));
    this.child.kill("SIGKILL");
    await Promise.race([gone, new Promise((go) => setTimeout(go, 3000))]);
    // Helpers of the browser may write for a moment longer; what is left is in the system's temporary folder.
    try { rmSync(this.profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }); } catch { /* left there */ }
  }
}
