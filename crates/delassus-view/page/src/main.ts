/** The page: what the server says goes into view, plots and panel; what the user does goes to the server. */

import { PANES, gradient } from "./colour";
import { number } from "./format";
import { keep, kept } from "./keep";
import { Link } from "./link";
import type { Look } from "./pane";
import { Panel, statusClass } from "./panel";
import { Plots } from "./plots";
import type { Command, Frame, Layout, Settings, Welcome } from "./protocol";
import { QUALITIES, type Quality } from "./quality";
import "./style.css";
import { VIEWS, Viewer, type View } from "./viewer";

const SPEEDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5];
const NOTICE_LIFE = 12_000;
const DARK = matchMedia("(prefers-color-scheme: dark)");
/** Angle of one key press [rad]. */
const TURN = 0.12;

function find<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

let welcome: Welcome | null = null;
let layout: Layout | null = null;
let settings: Settings | null = null;
let latest: Frame | null = null;
/** The scene and the frame on the screen. */
let shown = "";
let onScreen: Frame | null = null;

const local = { joints: false, shadows: true, follow: false, quality: kept("quality", QUALITIES) };
const plots = new Plots(find("plots"), (after) => send({ type: "samples", after }));
const send = (command: Command) => link.send(command);

const viewer = new Viewer(find<HTMLCanvasElement>("view"), look(), local.quality, {
  pick: (body) => send({ type: "select", body }),
  grab: (pane, body, point) => send({ type: "grab", pane, body, point }),
  drag: (target) => drag(target),
  release: () => send({ type: "release" }),
}, drawn, (level) => panel.setLevel(level));

let quality: Quality = local.quality;
const panel = new Panel(find("panel"), send, local, () => {
  viewer.setShow(local);
  viewer.hide(panel.tree.hidden);
  if (quality !== local.quality) viewer.setQuality((quality = local.quality));
  keep("quality", quality);
  if (settings && welcome) panel.settings(settings, welcome.solvers);
});

const link = new Link((event) => {
  switch (event.type) {
    case "welcome":
      welcome = event;
      fillScenes(event);
      break;
    case "scene":
      layout = event;
      showScene(event);
      break;
    case "settings":
      settings = event;
      showSettings(event);
      break;
    case "notice":
      tell(event.text);
      break;
    case "file":
      // Another page may have asked for it.
      if (asked.delete(event.tag)) download(event.name, new Blob([event.text], { type: "application/json" }));
      break;
    case "samples":
      if (event.epoch === layout?.epoch) plots.fill(event.panes);
      break;
  }
}, (frame) => {
  latest = frame;
  viewer.setFrame(frame);
  // One of another scene is not drawn, and the server waits for its answer all the same.
  if (frame.head.epoch !== layout?.epoch) answer(frame);
}, (connected) => {
  find("lost").hidden = connected;
  document.body.classList.toggle("offline", !connected);
});

function answer(frame: Frame): void {
  send({ type: "ack", frame: frame.head.frame });
}

/** A frame is on the screen: the numbers follow, and the server may send another. */
function drawn(frame: Frame): void {
  const { head } = frame;
  answer(frame);
  onScreen = frame;
  if (!layout || head.epoch !== layout.epoch) return;
  plots.add(head);
  panel.frame(frame, layout);
  showClock(frame);
  showLabels(frame);
  showLegend();
}

/** Files that this page asked for, by the number that comes back with them. */
const asked = new Set<number>();
function save(type: "state" | "problem"): void {
  const tag = Math.floor(Math.random() * 2 ** 32);
  asked.add(tag);
  send({ type, tag });
}

function download(name: string, content: Blob): void {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(content);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

/** The mouse moves more often than messages are worth sending. */
let pending: [number, number, number] | null = null;
function drag(target: [number, number, number]): void {
  if (!pending) {
    setTimeout(() => {
      if (pending) send({ type: "drag", target: pending });
      pending = null;
    }, 16);
  }
  pending = target;
}

/** The name of a file without its folders. */
function base(path: string): string {
  return path.split(/[\\/]/).pop() || path;
}

function fillScenes(event: Welcome): void {
  const select = find<HTMLSelectElement>("scene");
  select.replaceChildren();
  if (event.file) select.add(new Option(base(event.file), event.file));
  for (const scene of event.scenes) select.add(new Option(scene.name, scene.name));
  select.onchange = () => {
    const line = welcome?.scenes.find((scene) => scene.name === select.value);
    find<HTMLInputElement>("size").value = line?.limit ? String(line.size) : "";
    find("size-label").hidden = !line?.limit;
    loadScene();
  };
}

function loadScene(): void {
  const name = find<HTMLSelectElement>("scene").value;
  const size = find<HTMLInputElement>("size").value.trim();
  const line = welcome?.scenes.find((scene) => scene.name === name);
  send({ type: "scene", name: line?.limit && size ? `${name}:${size}` : name });
}

/** Whether links have no shape to be seen by: their joints are drawn instead. */
function isBare(event: Layout): boolean {
  const shaped = new Set(event.colliders.map((collider) => collider.body));
  return event.bodies.some((body, i) => body.motion === "link" && !shaped.has(i));
}

function showScene(event: Layout): void {
  document.title = `${base(event.name)} – delassus`;
  find("stage").setAttribute("aria-label", event.title);
  const recorded = event.recording !== null;
  const [name = "", size] = event.name === welcome?.file ? [event.name] : event.name.split(":");
  const line = welcome?.scenes.find((scene) => scene.name === name);
  find<HTMLSelectElement>("scene").value = name;
  find<HTMLInputElement>("size").value = size ?? (line?.limit ? String(line.size) : "");
  find("size-label").hidden = !line?.limit;
  for (const id of ["scene-form", "split"]) find(id).hidden = recorded;
  for (const option of find("save").querySelectorAll<HTMLOptionElement>("[value=state], [value=problem]")) option.hidden = option.disabled = recorded;
  find("timeline").hidden = (event.recording?.frames ?? 0) < 2;
  const seek = find<HTMLInputElement>("seek");
  [seek.min, seek.max] = ["0", String((event.recording?.frames ?? 1) - 1)];
  // What was refused before is no longer of interest.
  if (event.name !== shown) find("notices").replaceChildren();
  // Robots walk out of the picture where nobody goes with them.
  if (event.name !== shown) panel.setLocal({ follow: event.bodies.some((body) => body.motion === "link"), joints: isBare(event) });
  shown = event.name;
  panel.setLayout(event);
  viewer.setLayout(event, Math.max(settings?.panes.length ?? 1, 1));
  offerCameras(event);
  if (latest && latest.head.epoch !== event.epoch) answer(latest);
  plots.begin(event);
}

function showSettings(event: Settings): void {
  const play = find("play");
  play.setAttribute("aria-pressed", String(event.playing));
  find("play-text").textContent = event.playing ? "Pause" : "Play";
  const speed = find<HTMLSelectElement>("speed");
  if (![...speed.options].some((option) => Number(option.value) === event.speed)) speed.add(new Option(`${event.speed}×`, String(event.speed)));
  speed.value = String(event.speed);
  plots.setSweeps(event.display?.history ?? false);
  find("split").setAttribute("aria-pressed", String(event.panes.length === 2));
  viewer.setPanes(Math.max(event.panes.length, 1));
  viewer.setShow({ selected: event.selected, contacts: event.display?.contacts ?? false, colour: event.display?.colour ?? "body" });
  if (welcome) panel.settings(event, welcome.solvers);
}

function showClock({ head }: Frame): void {
  const rate = head.playing ? `${number(head.rate, 2)}× real time` : "paused";
  find("clock").textContent = `${head.time.toFixed(3)} s · ${layout?.recording ? "frame" : "step"} ${head.step} · ${rate}`;
  const span = layout?.recording ? [0, layout.recording.frames - 1] : head.past;
  const seek = find<HTMLInputElement>("seek");
  find("timeline").hidden = !span || span[1]! <= span[0]!;
  if (!span) return;
  [seek.min, seek.max] = [String(span[0]), String(span[1])];
  // The hand that moves it knows better.
  if (!scrubbing) seek.value = String(head.step);
  const end = layout?.recording ? `of ${layout.recording.duration.toFixed(3)} s` : `s, steps ${span[0]} to ${span[1]}`;
  find("seek-text").textContent = `${head.time.toFixed(3)} ${end}`;
  seek.setAttribute("aria-valuetext", `${head.time.toFixed(3)} seconds`);
}

/** Above each view: its solver and how its last step ended. */
function showLabels({ head }: Frame): void {
  const labels = find("labels");
  while (labels.children.length < head.panes.length) {
    const label = document.createElement("div");
    label.className = "label";
    label.append(document.createElement("b"), document.createElement("span"));
    labels.append(label);
  }
  while (head.panes.length < labels.children.length) labels.lastElementChild!.remove();
  head.panes.forEach((pane, i) => {
    const label = labels.children[i] as HTMLElement;
    const [title, state] = label.children as unknown as [HTMLElement, HTMLElement];
    title.textContent = head.panes.length < 2 ? pane.solver : `${"AB"[i]}  ${pane.solver}`;
    label.style.setProperty("--pane", head.panes.length < 2 ? "transparent" : PANES[i]!);
    const n = pane.numbers;
    state.textContent = n ? `${n.status} · ${n.iterations} ${n.iterations === 1 ? "iteration" : "iterations"} · ${number(n.residual.law, 3)} m/s` : "not stepped yet";
    state.dataset.status = n ? statusClass(n.status) : "";
  });
}

function showLegend(): void {
  const legend = find("legend");
  const range = viewer.panes.map((pane) => pane.range).find((r) => r !== null);
  const forces = viewer.show.contacts ? Math.max(0, ...viewer.panes.map((pane) => pane.arrows.reference)) : 0;
  const parts: string[] = [];
  if (range) {
    const beyond = range.high < 0.999 * range.most ? `, a few up to ${number(range.most, 3)} ${range.unit}` : "";
    parts.push(`${viewer.show.colour === "force" ? "Force on body" : "Law residual"}: ${number(range.low, 3)} to ${number(range.high, 3)} ${range.unit}${range.log ? ", logarithmic" : beyond}`);
  }
  if (0 < forces) parts.push(`Longest arrow: ${number(forces, 4)} N`);
  legend.hidden = parts.length === 0;
  const key = parts.join("|");
  if (legend.dataset.key === key) return;
  legend.dataset.key = key;
  legend.replaceChildren();
  for (const [i, text] of parts.entries()) {
    const line = document.createElement("div");
    line.textContent = text;
    if (range && i === 0) {
      const bar = document.createElement("div");
      bar.className = "scale";
      bar.style.background = gradient();
      line.append(bar);
    }
    legend.append(line);
  }
}

function tell(text: string): void {
  const notice = document.createElement("div");
  notice.className = "notice";
  const words = document.createElement("span");
  words.textContent = text;
  const close = document.createElement("button");
  close.textContent = "Dismiss";
  close.onclick = () => notice.remove();
  notice.append(words, close);
  const notices = find("notices");
  notices.append(notice);
  while (4 < notices.children.length) notices.firstElementChild!.remove();
  setTimeout(() => notice.remove(), NOTICE_LIFE);
}

function look(): Look {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string) => style.getPropertyValue(name).trim();
  return { background: get("--sky"), ground: get("--ground"), grid: get("--grid"), gridBold: get("--grid-bold"), sky: get("--light-above"), below: get("--light-below") };
}

function setTheme(theme: string): void {
  const dark = theme === "dark" || (theme === "auto" && DARK.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  keep("theme", theme);
  viewer.setLook(look());
  plots.restyle();
}

function toggle(key: "contacts"): void {
  if (settings?.display) send({ type: "display", ...settings.display, [key]: !settings.display[key] });
}

/** Picks the next body that moves, for those without a mouse. */
function pickNext(direction: 1 | -1): void {
  const bodies = layout?.bodies ?? [];
  const n = bodies.length;
  let at = settings?.selected ?? (direction === 1 ? -1 : n);
  for (let k = 0; k < n; k++) {
    at = (at + direction + n) % n;
    if (bodies[at]!.motion !== "static") return send({ type: "select", body: at });
  }
}

/** One step, or one frame of a recording, back. */
function back(): void {
  const step = latest?.head.step ?? 0;
  if (0 < step) send({ type: "seek", frame: step - 1 });
}

const play = () => send({ type: "play", on: !(settings?.playing ?? false) });
const split = () => send({ type: "split", on: settings?.panes.length !== 2 });

const KEYS: Record<string, () => void> = {
  " ": play,
  ".": () => send({ type: "step", count: 1 }),
  ",": () => back(),
  r: () => send({ type: "reset" }),
  s: split,
  f: () => viewer.fit(),
  c: () => toggle("contacts"),
  j: () => panel.setLocal({ joints: !local.joints }),
  o: () => panel.setLocal({ follow: !local.follow }),
  q: () => panel.setLocal({ quality: QUALITIES[(QUALITIES.indexOf(local.quality) + 1) % QUALITIES.length]! }),
  "[": () => pickNext(-1),
  "]": () => pickNext(1),
  ...Object.fromEntries((Object.keys(VIEWS) as View[]).map((view, i) => [String(i + 1), () => viewer.from(view)])),
  "?": () => find<HTMLDialogElement>("help").showModal(),
  Escape: () => send({ type: "select", body: null }),
};

const VIEW_KEYS: Record<string, () => void> = {
  ArrowLeft: () => viewer.turn(-TURN, 0, 1),
  ArrowRight: () => viewer.turn(TURN, 0, 1),
  ArrowUp: () => viewer.turn(0, -TURN, 1),
  ArrowDown: () => viewer.turn(0, TURN, 1),
  "+": () => viewer.turn(0, 0, 0.88),
  "=": () => viewer.turn(0, 0, 0.88),
  "-": () => viewer.turn(0, 0, 1 / 0.88),
};

document.addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  const typing = target.matches("input:not([type=checkbox]), select, textarea");
  const pressing = target.matches("button, summary, input[type=checkbox], a") && (event.key === " " || event.key === "Enter");
  if (typing || pressing || event.ctrlKey || event.metaKey || event.altKey || find<HTMLDialogElement>("help").open) return;
  const act = (target.id === "view" ? VIEW_KEYS[event.key] : undefined) ?? KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

find("play").onclick = play;
find("step").onclick = KEYS["."]!;
find("reset").onclick = KEYS["r"]!;
find("split").onclick = split;
find("frame-view").onclick = () => viewer.fit();
find("help-button").onclick = KEYS["?"]!;
find<HTMLFormElement>("scene-form").onsubmit = (event) => {
  event.preventDefault();
  loadScene();
};
const speed = find<HTMLSelectElement>("speed");
for (const factor of SPEEDS) speed.add(new Option(`${factor}×`, String(factor)));
speed.onchange = () => send({ type: "speed", factor: Number(speed.value) });
const seek = find<HTMLInputElement>("seek");
let scrubbing = false;
let sought: number | null = null;
seek.oninput = () => {
  scrubbing = true;
  if (sought === null) {
    setTimeout(() => {
      if (sought !== null) send({ type: "seek", frame: sought });
      sought = null;
    }, 25);
  }
  sought = Number(seek.value);
};
seek.onchange = () => (scrubbing = false);

const camera = find<HTMLSelectElement>("camera");
/** Before the number of a camera that the scene has. */
const OWN = "own:";

/** Lists the cameras of a scene below the usual ones. */
function offerCameras(event: Layout): void {
  const list = find<HTMLSelectElement>("camera");
  for (const option of [...list.options]) if (option.value.startsWith(OWN)) option.remove();
  event.cameras.forEach((one, i) => list.add(new Option(one.name, `${OWN}${i}`)));
}

camera.onchange = () => {
  if (camera.value in VIEWS) viewer.from(camera.value as View);
  const own = camera.value.startsWith(OWN) ? layout?.cameras[Number(camera.value.slice(OWN.length))] : undefined;
  if (own) viewer.through(own);
  camera.value = "";
};
const files = find<HTMLSelectElement>("save");
files.onchange = () => {
  const what = files.value;
  files.value = "";
  if (what === "state" || what === "problem") save(what);
  else viewer.picture((picture) => download(`${layout?.name ?? "delassus"}.png`.replace(/[^\w.-]+/g, "-"), picture));
};

const theme = find<HTMLSelectElement>("theme");
theme.value = kept("theme", ["auto", "light", "dark"]);
theme.onchange = () => setTheme(theme.value);
setTheme(theme.value);
DARK.addEventListener("change", () => setTheme(theme.value));

declare global {
  interface Window {
    /** What has come and, once settled, is on the screen; for tests. */
    delassus: { frame(): Frame | null; settled(): boolean; layout(): Layout | null; settings(): Settings | null; drawn(): number; cost(): number; took(): number; measured(milliseconds: number): void; level(): string; still(): boolean; hidden(): number[]; arrows(): number; place(pane: number, body: number): { x: number; y: number } };
  }
}

window.delassus = {
  frame: () => latest,
  settled: () => onScreen !== null && onScreen.head.epoch === layout?.epoch && ((settings?.playing && onScreen.head.playing) || onScreen === latest),
  layout: () => layout,
  settings: () => settings,
  drawn: () => viewer.drawn,
  cost: () => viewer.cost,
  took: () => viewer.took,
  measured: (milliseconds) => viewer.measured(milliseconds),
  level: () => viewer.level.about,
  still: () => viewer.isStill,
  hidden: () => [...panel.tree.hidden],
  arrows: () => viewer.panes.reduce((sum, pane) => sum + pane.arrows.drawn, 0),
  place: (pane, body) => {
    const at = layout?.bodies[body]?.pose;
    const span = (latest?.head.panes[pane] ?? latest?.head.replay)?.poses;
    if (at == null || !span || !latest) return { x: 0, y: 0 };
    const start = span.start + 7 * at;
    return viewer.place(pane, [latest.floats[start]!, latest.floats[start + 1]!, latest.floats[start + 2]!]);
  },
};
