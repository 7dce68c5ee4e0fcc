// Takes the picture of `crates/delassus-view/docs/view.md`: an arch in full quality, coloured by force, with one block picked.
//
//   delassus view arch --no-open &
//   node crates/delassus-view/page/test/picture.mjs http://127.0.0.1:7877/ /usr/bin/chromium crates/delassus-view/docs/view.png

import { chromium } from "playwright-core";

const [url = "http://127.0.0.1:7877/", executablePath = "/usr/bin/chromium", path = "view.png"] = process.argv.slice(2);
/** Simulated time at which it is taken [s]. */
const TIME = 5;
const PATIENCE = 300_000;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme: "light" });
page.setDefaultTimeout(PATIENCE);
// Smooth edges are decided when the page opens.
await page.addInitScript(() => localStorage.setItem("delassus-quality", "full"));
await page.goto(url);
await page.getByLabel("Colour by").selectOption("force");
await page.keyboard.press("]");
await page.waitForFunction((time) => time < window.delassus.frame().head.time && window.delassus.settings().selected !== null, TIME);
await page.locator("#play").click();
await page.waitForFunction(() => !window.delassus.frame().head.playing && window.delassus.settled());
await page.screenshot({ path, timeout: PATIENCE });
await browser.close();
