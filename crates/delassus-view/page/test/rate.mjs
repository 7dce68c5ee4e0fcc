// How fast the page draws what a server shows: frames a second while it streams, and while it rests and the camera
// turns. Rendering is by software unless a third word is `gpu`, so that the first numbers say what the machine's
// processor can do and the time of the page's own work is what to look at.
//
//   delassus view pile:10000 --no-open &
//   node crates/delassus-view/page/test/rate.mjs http://127.0.0.1:7877/ /usr/bin/chromium [gpu]

import { chromium } from "playwright-core";

const [url = "http://127.0.0.1:7877/", executablePath = "/usr/bin/chromium", gpu] = process.argv.slice(2);
const SECONDS = 10;
const PATIENCE = 300_000;

const software = ["--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", ...(gpu ? [] : software)] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.setDefaultTimeout(PATIENCE);
await page.goto(url);
await page.waitForFunction(() => window.delassus?.frame() && 1 < window.delassus.drawn());

/** Frames drawn in a while, the work of the page on each [ms], and steps of the simulation. */
const measure = (turning) => page.evaluate(async ([milliseconds, turning]) => {
  const view = document.getElementById("view");
  view.focus();
  const [drawn, step, begin] = [window.delassus.drawn(), window.delassus.frame().head.step, performance.now()];
  const costs = [];
  while (performance.now() - begin < milliseconds) {
    if (turning) view.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
    await new Promise((done) => requestAnimationFrame(done));
    costs.push(window.delassus.cost());
  }
  const seconds = (performance.now() - begin) / 1000;
  costs.sort((a, b) => a - b);
  return { frames: (window.delassus.drawn() - drawn) / seconds, steps: (window.delassus.frame().head.step - step) / seconds, cost: costs[costs.length >> 1] };
}, [1000 * SECONDS, turning]);

const bodies = await page.evaluate(() => window.delassus.layout().bodies.length);
const streamed = await measure(false);
console.log(`${bodies} bodies, streamed: ${streamed.frames.toFixed(1)} frames and ${streamed.steps.toFixed(1)} steps a second, ${streamed.cost.toFixed(1)} ms to put a frame into place`);
if (await page.evaluate(() => window.delassus.settings().playing)) await page.locator("#play").click();
await page.waitForFunction(() => !window.delassus.settings().playing);
const turned = await measure(true);
console.log(`at rest, the camera turning: ${turned.frames.toFixed(1)} frames a second`);
await browser.close();
