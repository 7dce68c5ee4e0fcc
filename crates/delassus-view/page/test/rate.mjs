// How fast the page draws what a server shows, in each quality: pictures a second while it streams, while it streams and
// the camera turns, and while it rests and the camera turns. Rendering is by software unless the third word is `gpu`.
//
//   delassus view pile:10000 --no-open &
//   node crates/delassus-view/page/test/rate.mjs http://127.0.0.1:7877/ /usr/bin/chromium [gpu]

import { chromium } from "playwright-core";

const [url = "http://127.0.0.1:7877/", executablePath = "/usr/bin/chromium", gpu] = process.argv.slice(2);
const SECONDS = 10;
const PATIENCE = 300_000;

const software = ["--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", ...(gpu ? [] : software)] });
const page = await browser.newPage({ viewport: { width: 920, height: 540 } });
page.setDefaultTimeout(PATIENCE);
await page.goto(url);
await page.waitForFunction(() => window.delassus?.settled());

/** Pictures a second, the page's own work on each [ms], the time until it is drawn [ms], and steps of the simulation a second. */
const measure = (turning) => page.evaluate(async ([milliseconds, turning]) => {
  const { delassus } = window;
  const view = document.getElementById("view");
  view.focus();
  const [drawn, step, begin] = [delassus.drawn(), delassus.frame().head.step, performance.now()];
  const [costs, times] = [[], []];
  while (performance.now() - begin < milliseconds) {
    if (turning) view.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
    await new Promise((done) => requestAnimationFrame(done));
    costs.push(delassus.cost());
    times.push(delassus.took());
  }
  const seconds = (performance.now() - begin) / 1000;
  const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
  return { pictures: (delassus.drawn() - drawn) / seconds, steps: (delassus.frame().head.step - step) / seconds, cost: median(costs), took: median(times), level: delassus.level() };
}, [1000 * SECONDS, turning]);

const play = async (on) => {
  if ((await page.evaluate(() => window.delassus.settings().playing)) !== on) await page.locator("#play").click();
  await page.waitForFunction((on) => window.delassus.settings().playing === on, on);
};
const say = (what, m) => console.log(`  ${what.padEnd(28)} ${m.pictures.toFixed(1).padStart(5)} pictures and ${m.steps.toFixed(1)} steps a second; ${m.took.toFixed(0)} ms a picture, ${m.cost.toFixed(1)} ms of it the page's own work`);

console.log(`${await page.evaluate(() => window.delassus.layout().bodies.length)} bodies`);
for (const quality of ["automatic", "fast", "full"]) {
  await page.getByLabel("Quality").selectOption(quality);
  await play(true);
  const streamed = await measure(false);
  console.log(`${quality}: ${streamed.level}`);
  say("streamed", streamed);
  say("streamed, the camera turning", await measure(true));
  await play(false);
  say("at rest, the camera turning", await measure(true));
}
await browser.close();
