// Drives the page in a real browser. Called by `tests/browser.rs`, which serves the page and obeys the lines this
// script prints: `server stop` and `server start` are answered on standard input with `done`.
//
//   node browser.mjs URL CHROMIUM PROFILE [SCREENSHOTS]

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [url, executablePath, profile, screenshots] = process.argv.slice(2);
const WAIT = 120_000;

const lines = createInterface({ input: process.stdin });
const answers = lines[Symbol.asyncIterator]();
async function ask(what) {
  console.log(what);
  const { value } = await answers.next();
  assert.equal(value, "done", `${what}: ${value}`);
}

const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  timeout: WAIT,
  viewport: { width: 920, height: 540 },
  // Software rendering: it proves the logic, not the frame rate.
  args: [
    "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run",
    "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});
const page = context.pages()[0] ?? (await context.newPage());
page.setDefaultTimeout(WAIT);

const outside = [];
const problems = [];
page.on("request", (request) => {
  if (!request.url().startsWith(url) && !request.url().startsWith(url.replace("http", "ws"))) outside.push(request.url());
});
page.on("pageerror", (error) => problems.push(String(error)));
page.on("console", (message) => {
  const text = message.text();
  // A server that is gone, and the speed of software rendering, are no faults of the page.
  if (message.type() === "error" && !/WebSocket|ERR_CONNECTION|GPU stall|GL Driver/.test(text)) problems.push(text);
});

// Whatever hangs, somebody waits for the end.
setTimeout(() => { console.log("this took too long"); process.exit(1); }, 900_000).unref();
process.on("exit", () => problems.forEach((text) => console.log(`problem: ${text}`)));

/** Waits for something to hold of what is on the screen. */
const until = (what, argument) => page.waitForFunction(what, argument, { timeout: WAIT, polling: 50 });
/** What has arrived is drawn too: only then is it under the mouse and in the panel. */
const settled = () => until(() => window.delassus?.settled());
const head = () => page.evaluate(() => window.delassus.frame()?.head);
const position = (pane, body) => page.evaluate(([pane, body]) => {
  const { head, floats } = window.delassus.frame();
  const at = head.panes[pane].poses.start + 7 * window.delassus.layout().bodies[body].pose;
  return Array.from(floats.subarray(at, at + 3));
}, [pane, body]);
async function shot(name) {
  if (screenshots) await page.screenshot({ path: `${screenshots}/${name}.png` });
}
/** Pixels of the view that are neither grey nor pale: those of bodies. */
async function colourful() {
  const picture = (await page.locator("#view").screenshot()).toString("base64");
  return page.evaluate(async (picture) => {
    const bytes = Uint8Array.from(atob(picture), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    const { data } = canvas.getImageData(0, 0, image.width, image.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (60 < Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2])) count += 1;
    }
    return count;
  }, picture);
}
let passed = 0;
async function claim(name, body) {
  const begin = Date.now();
  await body();
  passed += 1;
  console.log(`ok ${name} (${((Date.now() - begin) / 1000).toFixed(1)} s)`);
}
const pause = async () => {
  if (await page.evaluate(() => window.delassus.settings().playing)) await page.keyboard.press(" ");
  await until(() => !window.delassus.settings().playing);
};
const focusView = () => page.locator("#view").focus();

await claim("opens and draws", async () => {
  await page.goto(url);
  await settled();
  assert.equal(await page.title(), "stack:3 – delassus");
  assert.ok(500 < await colourful(), "boxes are seen");
  await shot("light");
});

await claim("draws without shadows", async () => {
  await page.getByLabel("Shadows").uncheck();
  const drawn = await page.evaluate(() => window.delassus.drawn());
  await until((drawn) => drawn < window.delassus.drawn(), drawn);
  await page.getByLabel("Shadows").check();
});

await claim("draws as finely as it is asked to", async () => {
  const drawnAnew = async (level) => {
    await until((level) => window.delassus.level() === level && document.querySelector("#level").textContent.includes(level), level);
    const drawn = await page.evaluate(() => window.delassus.drawn());
    await until((drawn) => drawn < window.delassus.drawn(), drawn);
    assert.ok(500 < await colourful(), `boxes are seen ${level}`);
  };
  await page.getByLabel("Quality").selectOption("full");
  await drawnAnew("in full");
  await page.getByLabel("Quality").selectOption("fast");
  await drawnAnew("simple shapes, coarse pixels");
  await focusView();
  await page.keyboard.press("q");
  await until(() => localStorage.getItem("delassus-quality") === "automatic");
});

await claim("draws as finely as the machine keeps up with", async () => {
  await focusView();
  await pause();
  await settled();
  // All in one go, so that no real picture and its time come between.
  const levels = await page.evaluate(() => {
    for (const asked of ["full", "automatic"]) {
      const quality = [...document.querySelectorAll("label")].find((label) => label.textContent === "Quality").control;
      quality.value = asked;
      quality.dispatchEvent(new Event("change", { bubbles: true }));
    }
    const seen = [window.delassus.level()];
    // As if so many pictures had taken so long, or fewer where that makes a difference.
    for (const [count, milliseconds] of [[30, 5], [30, 5], [30, 5], [6, 500], [100, 5], [6, 500], [6, 500]]) {
      for (let i = 0; i < count && window.delassus.level() === seen.at(-1); i++) window.delassus.measured(milliseconds);
      seen.push(window.delassus.level());
    }
    return seen;
  });
  assert.deepEqual(levels, [
    "simple shapes, coarse pixels", // Without a graphics processor it begins there.
    "simple shapes, no shadows",
    "without shadows",
    "in full",
    "without shadows",
    "without shadows", // What was too slow is not tried at once again.
    "simple shapes, no shadows",
    "simple shapes, coarse pixels",
  ]);
  await focusView();
  await page.keyboard.press(" ");
  await until(() => window.delassus.settings().playing);
});

await claim("moves, pauses and makes single steps", async () => {
  const before = (await head()).step;
  await until((before) => before + 3 < window.delassus.frame().head.step, before);
  await focusView();
  await pause();
  await page.keyboard.press("r");
  await until(() => window.delassus.frame().head.step === 0);
  for (let step = 1; step <= 5; step++) {
    await page.keyboard.press(".");
    await until((step) => window.delassus.frame().head.step === step, step);
  }
});

await claim("shows the numbers of the report", async () => {
  // What the library gives for the same five steps, bit for bit, as the caller of this script computed it.
  const expected = JSON.parse(process.env.EXPECTED);
  // The panel follows what is drawn, which comes after what has arrived.
  await until(() => document.querySelector("#panel [data-step='5'] table"));
  const shown = await page.evaluate(() => {
    const cells = [...document.querySelectorAll("#panel [data-step] table tr")].map((row) => [row.cells[0].textContent, row.cells[1].title]);
    return Object.fromEntries(cells);
  });
  assert.equal(shown["Status"], expected.status);
  assert.equal(Number(shown["Iterations"]), expected.iterations);
  assert.equal(Number(shown["Contacts"]), expected.contacts);
  assert.equal(Number(shown["Law residual"]), expected.law);
  assert.equal(Number(shown["Penetration"]), expected.penetration);
  assert.equal(Number(shown["Kinetic energy"]), expected.kinetic);
  assert.equal(Number(shown["Potential energy"]), expected.potential);
});

await claim("switches solver while it runs", async () => {
  await page.keyboard.press(" ");
  const method = page.getByLabel("Method");
  await method.selectOption("jacobi");
  await until(() => window.delassus.frame().head.panes[0].numbers?.solver === "jacobi");
  await page.getByLabel("accelerate", { exact: true }).selectOption("nesterov");
  await until(() => window.delassus.frame().head.panes[0].numbers?.options.accelerate === "nesterov");
  await page.getByLabel("Method").selectOption("gauss-seidel");
  await until(() => window.delassus.frame().head.panes[0].numbers?.solver === "gauss-seidel");
  // The forms are made anew when the server tells what is chosen; what is typed before is lost.
  await until(() => window.delassus.settings().panes[0].spec.startsWith("gauss-seidel"));
});

await claim("changes dt, gravity and friction, and refuses nonsense", async () => {
  const dt = page.getByLabel("dt [s]");
  await dt.fill("0.005");
  await dt.press("Enter");
  await until(() => window.delassus.settings().parameters.dt === 0.005);
  await page.getByLabel("Friction μ").fill("0.1");
  await page.getByLabel("Friction μ").press("Enter");
  await until(() => window.delassus.settings().parameters.friction === 0.1);
  const refused = async (label, text, words) => {
    await page.getByLabel(label).fill(text);
    await page.getByLabel(label).press("Enter");
    await until((words) => [...document.querySelectorAll("#panel .fault")].some((p) => !p.hidden && p.innerText.includes(words)), words);
    assert.equal(await page.getByLabel(label).getAttribute("aria-invalid"), "true");
    assert.equal(await page.getByLabel(label).inputValue(), text, "what was typed stays to be mended");
  };
  await refused("Gravity z [m/s²]", "1.62e9", "from -1000 to 1000; it is still -9.81");
  await refused("dt [s]", "-3", "to 0.1; it is still 0.005");
  await shot("refused");
  const { dt: still, gravity } = await page.evaluate(() => window.delassus.settings().parameters);
  assert.deepEqual([still, gravity[2]], [0.005, -9.81]);
});

await claim("splits into two solvers that go in step", async () => {
  await focusView();
  await pause();
  await page.keyboard.press("s");
  await until(() => window.delassus.frame().head.panes.length === 2);
  await until(() => document.querySelectorAll("#labels .label").length === 2);
  await page.keyboard.press(".");
  await until(() => window.delassus.frame().head.panes.every((pane) => pane.numbers));
  const { panes } = await head();
  assert.notEqual(panes[0].numbers.solver, panes[1].numbers.solver);
  assert.equal(panes[0].samples.at(-1).step, panes[1].samples.at(-1).step);
  await settled();
  await shot("split");
});

await claim("picks a body and drags it in both views", async () => {
  await focusView();
  await page.keyboard.press("r");
  await until(() => window.delassus.frame().head.step === 0);
  await settled();
  const top = await page.evaluate(() => window.delassus.layout().bodies.findLastIndex((body) => body.motion === "dynamic"));
  const before = await position(0, top);
  const from = await page.evaluate((top) => window.delassus.place(0, top), top);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(from.x + 20, from.y - 20, { steps: 2 });
  await page.mouse.move(from.x + 30, from.y - 60, { steps: 2 });
  await until((top) => window.delassus.settings().selected === top, top);
  await until(() => window.delassus.frame().head.panes.every((pane) => pane.hand));
  await focusView();
  await page.keyboard.press(" ");
  await until(([top, height]) => window.delassus.frame().head.panes.every((pane) => {
    const at = pane.poses.start + 7 * window.delassus.layout().bodies[top].pose;
    return height + 0.2 < window.delassus.frame().floats[at + 2];
  }), [top, before[2]]);
  await shot("drag");
  await until(() => document.querySelector("#panel").innerText.includes("Body: box-000002"));
  await page.mouse.up();
  await until(() => window.delassus.frame().head.panes.every((pane) => !pane.hand));
});

await claim("colours by force and by residual", async () => {
  for (const colour of ["force", "residual"]) {
    await page.getByLabel("Colour by").selectOption(colour);
    await until(() => 0 < window.delassus.frame().head.panes[0].colours.count);
    await until((unit) => !document.querySelector("#legend").hidden && document.querySelector("#legend").innerText.includes(unit), colour === "force" ? "N" : "m/s");
  }
  await page.getByLabel("Colour by").selectOption("body");
  await focusView();
  await page.keyboard.press("s");
  await until(() => window.delassus.frame().head.panes.length === 1);
});

await claim("reports a bad scene in words and keeps the old one", async () => {
  await page.getByLabel("Size").fill("0");
  await page.locator("#load").click();
  await until(() => document.querySelector(".notice")?.innerText.includes("not a size of stack; give a whole number from 1"));
  assert.equal(await page.evaluate(() => window.delassus.layout().name), "stack:3");
  // It goes by itself after a while, too.
  await page.evaluate(() => document.querySelector(".notice button")?.click());
  await until(() => !document.querySelector(".notice"));
});

await claim("draws thousands of bodies, fast", async () => {
  await focusView();
  await pause();
  await page.getByLabel("Quality").selectOption("fast");
  await page.locator("#scene").selectOption("pile");
  await until(() => window.delassus.layout().name.startsWith("pile"));
  await page.locator("#size").fill("2000");
  await page.locator("#load").click();
  await until(() => window.delassus.layout().name === "pile:2000");
  await settled();
  assert.ok(2000 < await colourful(), "balls are seen");
  await shot("crowd");
  const ball = await page.evaluate(() => window.delassus.layout().bodies.findLastIndex((body) => body.motion === "dynamic"));
  const at = await page.evaluate((ball) => window.delassus.place(0, ball), ball);
  await page.mouse.click(at.x, at.y);
  await until(() => window.delassus.layout().bodies[window.delassus.settings().selected]?.motion === "dynamic");
  await page.getByLabel("Quality").selectOption("automatic");
  await focusView();
  await page.keyboard.press(" ");
  await until(() => window.delassus.settings().playing);
});

await claim("loads another scene", async () => {
  await page.locator("#scene").selectOption("necklace");
  await until(() => window.delassus.layout().name.startsWith("necklace") && window.delassus.frame().head.epoch === window.delassus.layout().epoch);
  await focusView();
  await page.keyboard.press("j");
  await until(() => 10 < window.delassus.frame().head.step);
  await settled();
  await shot("joints");
});

await claim("drags the link of a robot and colours it by its residual", async () => {
  await page.locator("#scene").selectOption("quadruped");
  await until(() => window.delassus.layout().name === "quadruped" && window.delassus.frame().head.epoch === window.delassus.layout().epoch);
  await page.getByLabel("Colour by").selectOption("residual");
  await focusView();
  await pause();
  await page.keyboard.press("r");
  await until(() => window.delassus.frame().head.step === 0);
  await settled();
  const trunk = await page.evaluate(() => window.delassus.layout().bodies.findIndex((body) => body.motion === "link"));
  const before = await position(0, trunk);
  const from = await page.evaluate((trunk) => window.delassus.place(0, trunk), trunk);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(from.x + 10, from.y - 40, { steps: 2 });
  await page.mouse.move(from.x + 10, from.y - 80, { steps: 2 });
  await until(() => window.delassus.frame().head.panes[0].hand && window.delassus.settings().selected !== null);
  const held = await page.evaluate(() => window.delassus.settings().selected);
  assert.equal(await page.evaluate((held) => window.delassus.layout().bodies[held].motion, held), "link");
  await page.keyboard.press(" ");
  await until(([trunk, height]) => {
    const at = window.delassus.frame().head.panes[0].poses.start + 7 * window.delassus.layout().bodies[trunk].pose;
    return height + 0.05 < window.delassus.frame().floats[at + 2];
  }, [trunk, before[2]]);
  await until(() => 0 < window.delassus.frame().head.panes[0].colours.count);
  await shot("robot");
  await page.mouse.up();
  await until(() => !window.delassus.frame().head.panes[0].hand);
  await page.getByLabel("Colour by").selectOption("body");
});

await claim("works in the dark", async () => {
  await page.getByLabel("Theme").selectOption("dark");
  await until(() => getComputedStyle(document.body).backgroundColor === "rgb(18, 22, 27)");
  const drawn = await page.evaluate(() => window.delassus.drawn());
  await until((drawn) => drawn < window.delassus.drawn(), drawn);
  await shot("dark");
});

await claim("can be used by keyboard", async () => {
  await page.locator("h1").click();
  const order = [];
  for (let i = 0; i < 9; i++) {
    await page.keyboard.press("Tab");
    order.push(await page.evaluate(() => document.activeElement.id || document.activeElement.className));
  }
  for (const id of ["scene", "play", "step", "reset"]) assert.ok(order.includes(id), `${id} in ${order}`);
  const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, input, select")].filter((element) => {
    const named = element.getAttribute("aria-label") || element.textContent.trim() || element.labels?.length;
    return element.tagName === "SELECT" || element.tagName === "INPUT" ? !element.labels?.length : !named;
  }).length);
  assert.equal(unnamed, 0, "controls without a name");
  await focusView();
  await page.keyboard.press("]");
  await until(() => window.delassus.settings().selected !== null);
  await page.keyboard.press("Escape");
  await until(() => window.delassus.settings().selected === null);
  await pause();
  await settled();
  const drawn = await page.evaluate(() => window.delassus.drawn());
  await page.keyboard.press("ArrowLeft");
  await until((drawn) => drawn < window.delassus.drawn(), drawn);
});

await claim("survives a reload", async () => {
  await page.getByLabel("Quality").selectOption("fast");
  const before = (await head()).step;
  await page.reload();
  await settled();
  assert.ok(before <= (await head()).step);
  assert.match(await page.title(), /quadruped/);
  assert.equal(await page.getByLabel("Quality").inputValue(), "fast");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
});

await claim("survives a killed server", async () => {
  await ask("server stop");
  await until(() => !document.querySelector("#lost").hidden);
  await shot("lost");
  await ask("server start");
  await until(() => document.querySelector("#lost").hidden);
  await until(() => window.delassus.layout().name === "stack:3" && window.delassus.frame().head.epoch === window.delassus.layout().epoch);
  const before = (await head()).step;
  await until((before) => before < window.delassus.frame().head.step, before);
});

await claim("draws in full what stands still", async () => {
  await page.getByLabel("Quality").selectOption("automatic");
  await focusView();
  await pause();
  await settled();
  await until(() => window.delassus.level() !== "in full" && window.delassus.still());
  await shot("still");
  await page.keyboard.press("ArrowLeft");
  await until(() => !window.delassus.still());
});

await claim("goes back in a live run, and on from there", async () => {
  await focusView();
  await page.keyboard.press(" ");
  await until(() => window.delassus.settings().playing);
  await until(() => 30 < window.delassus.frame().head.step);
  await pause();
  await settled();
  const last = (await head()).step;
  const seek = async (step) => page.evaluate((step) => {
    const seek = document.querySelector("#seek");
    seek.value = String(step);
    seek.dispatchEvent(new Event("input", { bubbles: true }));
    seek.dispatchEvent(new Event("change", { bubbles: true }));
  }, step);
  assert.ok(await page.locator("#timeline").isVisible());
  await seek(10);
  await until(() => window.delassus.frame().head.step === 10);
  await settled();
  assert.ok(0 < (await head()).panes[0].arrows.count, "forces of then are shown");
  await seek(last);
  await until((last) => window.delassus.frame().head.step === last, last);
  await seek(10);
  await until(() => window.delassus.frame().head.step === 10);
  await focusView();
  await page.keyboard.press(".");
  await until(() => window.delassus.frame().head.step === 11 && window.delassus.frame().head.past[1] === 11);
  await page.keyboard.press(",");
  await until(() => window.delassus.frame().head.step === 10);
});

await claim("saves the state and the problem of this step", async () => {
  for (const [what, ending] of [["state", "stack-3-state-000010.json"], ["problem", "stack-3-step-000011.json"]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save").selectOption(what)]);
    assert.equal(download.suggestedFilename(), ending);
  }
});

await claim("looks from every side", async () => {
  await focusView();
  for (const key of ["2", "3", "4", "1"]) {
    const drawn = await page.evaluate(() => window.delassus.drawn());
    await page.keyboard.press(key);
    await until((drawn) => drawn < window.delassus.drawn(), drawn);
    assert.ok(200 < await colourful(), `boxes are seen from side ${key}`);
  }
});

await claim("opens a robot file and turns its joints", async () => {
  await page.getByLabel("Theme").selectOption("light");
  await ask("server robot");
  await until(() => window.delassus.layout().name === "arm.xml" && window.delassus.frame().head.epoch === window.delassus.layout().epoch);
  await focusView();
  await pause();
  await settled();
  assert.ok(500 < await colourful(), "the robot is seen");
  const slide = (id, value) => page.evaluate(([id, value]) => {
    const slider = document.getElementById(id);
    slider.value = String(value);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    slider.dispatchEvent(new Event("change", { bubbles: true }));
    return slider.labels[0].textContent;
  }, [id, value]);
  const dial = (joint, at, value) => until(([joint, at, value]) => {
    const { head, floats } = window.delassus.frame();
    return Math.abs(floats[head.panes[0].dials.start + 4 * joint + at] - value) < 0.02;
  }, [joint, at, value]);
  await page.keyboard.press("r");
  await until(() => window.delassus.frame().head.step === 0);
  assert.equal(await slide("joints-1", 1.2), "elbow");
  await dial(1, 0, 1.2);
  await page.getByRole("button", { name: "bent" }).click();
  await dial(0, 0, 0.5);
  await dial(1, 0, -1);
  await settled();
  await shot("keyframe");
  // Running: the servo goes where it is told.
  await slide("actuators-0", -0.6);
  await dial(0, 3, -0.6);
  await focusView();
  await page.keyboard.press(" ");
  await until(() => {
    const { head, floats } = window.delassus.frame();
    return floats[head.panes[0].dials.start] < -0.3;
  });
  await page.getByLabel("Colour by").selectOption("force");
  await until(() => 0 < window.delassus.frame().head.panes[0].colours.count);
  await shot("arm");
  await page.getByLabel("Colour by").selectOption("body");
  await focusView();
  await pause();
});

await claim("finds, picks, hides and isolates bodies", async () => {
  await page.locator("summary", { hasText: "Bodies" }).click();
  await page.locator("#body-search").fill("LOWER");
  await until(() => document.querySelectorAll(".bodies li").length === 1);
  await page.locator(".bodies .name").click();
  await until(() => window.delassus.layout().bodies[window.delassus.settings().selected]?.name.endsWith("lower"));
  await page.locator("#body-search").fill("");
  const upper = await page.evaluate(() => window.delassus.layout().bodies.findIndex((body) => body.name.endsWith("upper")));
  const before = await colourful();
  const arrows = () => page.evaluate(() => window.delassus.arrows());
  const all = await arrows();
  assert.ok(0 < all, "forces are drawn");
  await page.locator(`#show-${upper}`).uncheck();
  // With all that it carries.
  await until(() => window.delassus.hidden().length === 2);
  await settled();
  await until(() => window.delassus.still());
  assert.ok(await colourful() < before, "less is seen");
  const left = await arrows();
  assert.ok(left < all, `forces of what is hidden are not drawn: ${left} of ${all}`);
  await page.getByRole("button", { name: /Only .*ball/ }).click();
  await until(() => window.delassus.hidden().length === window.delassus.layout().bodies.length - 1);
  await shot("isolated");
  await page.getByRole("button", { name: "Show all" }).click();
  await until(() => window.delassus.hidden().length === 0);
  assert.equal(await arrows(), all);
});

await claim("replays a recorded robot with its forces and velocities", async () => {
  await ask("server recording");
  await until(() => window.delassus.layout().recording?.frames === 61 && window.delassus.frame().head.epoch === window.delassus.layout().epoch);
  await focusView();
  await pause();
  await page.evaluate(() => {
    const seek = document.querySelector("#seek");
    seek.value = "40";
    seek.dispatchEvent(new Event("input", { bubbles: true }));
    seek.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await until(() => window.delassus.frame().head.step === 40);
  const ball = await page.evaluate(() => window.delassus.layout().bodies.findIndex((body) => body.name.endsWith("ball")));
  await page.locator("#body-search").fill("ball");
  await page.locator(".bodies .name").click();
  await until((ball) => window.delassus.frame().head.replay.selected?.body === ball, ball);
  const { replay } = await head();
  assert.ok(7 <= replay.arrows.count && replay.dials.count === 8);
  assert.ok(replay.selected.velocity && 0 < replay.selected.contacts);
  await settled();
  await until(() => document.querySelector("#panel").innerText.includes("Contact force"));
  const weight = 9.81 * await page.evaluate((ball) => window.delassus.layout().bodies[ball].mass, ball);
  assert.ok(Math.abs(Math.hypot(...replay.selected.contact_force) - weight) < 0.05 * weight, "the ground carries the ball");
  await shot("replay");
});

await claim("fits a narrow screen", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [server, theme] of [["start", "light"], ["robot", "dark"]]) {
    await ask(`server ${server}`);
    await until((name) => window.delassus.layout().name === name && window.delassus.frame().head.epoch === window.delassus.layout().epoch, server === "start" ? "stack:3" : "arm.xml");
    await page.getByLabel("Theme").selectOption(theme);
    await settled();
    const cut = await page.evaluate(() => [...document.querySelectorAll("button, input, select, table, figure, #view")]
      .filter((element) => element.offsetParent !== null && !element.closest("[hidden]"))
      .filter((element) => 390.5 < element.getBoundingClientRect().right || element.getBoundingClientRect().left < -0.5)
      .map((element) => element.id || element.outerHTML.slice(0, 80)));
    assert.deepEqual(cut, [], "cut off");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
    assert.ok(300 < await page.evaluate(() => document.querySelector("#view").clientHeight));
    await shot(`narrow-${server}`);
    // The panel and the plots are reached by scrolling.
    await page.locator("#plots").scrollIntoViewIfNeeded();
    await shot(`narrow-${server}-below`);
    await page.evaluate(() => window.scrollTo(0, 0));
  }
});

await claim("asks nobody but its own server", async () => {
  assert.deepEqual(outside, []);
  assert.deepEqual(problems, []);
});

await context.close();
lines.close();
console.log(`passed ${passed}`);
