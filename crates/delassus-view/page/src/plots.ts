/** Live plots: residual against sweeps, energy, penetration, time per step. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { PANES } from "./colour";
import { number } from "./format";
import type { Head, Layout, Sample } from "./protocol";

/** Steps kept for the plots. */
const KEPT = 1500;
/** Milliseconds between two drawings. */
const PERIOD = 200;

const LAST_STEP = ["Law residual, last step", "m/s", "sweeps", true] as const;
const EVERY_STEP = ["Law residual, every step", "m/s", "time [s]", true] as const;

interface Series { label: string; colour: string; dash?: number[] }

class Plot {
  /** Where a recording stands. */
  mark: number | null = null;
  private plot: uPlot | null = null;
  private key = "";
  private readonly holder = document.createElement("div");
  private readonly legend = document.createElement("span");

  constructor(parent: HTMLElement, readonly title: string, private readonly unit: string, private readonly xUnit: string, private readonly log = false) {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.append(`${title} [${unit}]`, this.legend);
    this.legend.className = "legend";
    figure.append(caption, this.holder);
    this.holder.className = "plot";
    this.holder.setAttribute("role", "img");
    this.holder.setAttribute("aria-label", `Plot of ${title}`);
    parent.append(figure);
    new ResizeObserver(() => this.fit()).observe(figure);
  }

  private size(): { width: number; height: number } {
    const box = this.holder.getBoundingClientRect();
    return { width: Math.max(Math.floor(box.width), 60), height: Math.max(Math.floor(box.height), 60) };
  }

  private fit(): void {
    this.plot?.setSize(this.size());
  }

  reset(): void {
    this.plot?.destroy();
    this.plot = null;
  }

  /** Draws; the last value of each line is put into words for those who cannot see it. */
  draw(series: Series[], data: (number | null)[][]): void {
    const key = JSON.stringify(series);
    if (!this.plot || key !== this.key) {
      this.reset();
      this.key = key;
      this.name(series);
      this.plot = new uPlot(this.options(series), data as uPlot.AlignedData, this.holder);
    } else {
      this.plot.setData(data as uPlot.AlignedData);
    }
    const words = series.map((s, i) => `${s.label} ${number(data[i + 1]?.findLast((x) => x !== null) ?? 0, 3)} ${this.unit}`);
    this.holder.setAttribute("aria-label", `Plot of ${this.title}: ${words.join(", ")}`);
  }

  /** Which line is which, beside the title: inside the plot it would hide lines. */
  private name(series: Series[]): void {
    const names = series.length < 2 ? [] : series.map(({ label, colour, dash }) => {
      const name = document.createElement("span");
      name.textContent = label;
      name.style.setProperty("--line-colour", colour);
      name.style.setProperty("--line-style", !dash ? "solid" : dash[0]! < 4 ? "dotted" : "dashed");
      return name;
    });
    this.legend.replaceChildren(...names);
  }

  private drawMark(plot: uPlot, ink: string): void {
    if (this.mark === null) return;
    const x = Math.round(plot.valToPos(this.mark, "x", true));
    plot.ctx.strokeStyle = ink;
    plot.ctx.lineWidth = devicePixelRatio;
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, plot.bbox.top);
    plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
    plot.ctx.stroke();
  }

  /** Moves the mark. */
  stand(at: number): void {
    this.mark = at;
    this.plot?.redraw(false);
  }

  private options(series: Series[]): uPlot.Options {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--soft").trim();
    const line = style.getPropertyValue("--line").trim();
    const font = `10px ${style.getPropertyValue("--font").trim()}`;
    const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 3 } };
    // As many digits as the distance from one line of the grid to the next has.
    const labels = (splits: (number | null)[], log: boolean) => {
      const known = splits.filter((x) => x !== null);
      const apart = known.length < 2 || log ? 0 : Math.abs(known[1]! - known[0]!);
      const digits = [0, 1, 2, 3, 4].find((n) => Math.abs(apart * 10 ** n - Math.round(apart * 10 ** n)) < 1e-6) ?? 5;
      const largest = Math.max(...known.map(Math.abs));
      const plain = 1e-4 <= apart && largest < 1e6;
      return splits.map((x) => {
        if (x === null) return "";
        if (plain) return x.toFixed(digits).replace("-", "−");
        return number(x, 3).replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "");
      });
    };
    return {
      ...this.size(),
      legend: { show: false },
      cursor: { show: false },
      padding: [6, 16, 0, 0],
      // Before there is anything to draw, the limits are null.
      scales: { x: { time: false, range: (_, low, high) => (low < high ? [low, high] : [low ?? 0, (low ?? 0) + 1]) }, y: this.log ? { distr: 3 } : { range: (_, low, high) => (low || high ? uPlot.rangeNum(low, high, 0.1, true) : [0, 1]) } },
      hooks: { draw: [(plot) => this.drawMark(plot, ink)] },
      axes: [
        { ...axis, size: 24, gap: 2, values: (_, splits) => labels(splits, false), label: this.xUnit, labelSize: 12, labelFont: font, labelGap: 0 },
        { ...axis, size: 56, gap: 3, values: (_, splits) => labels(splits, this.log), space: 22 },
      ],
      series: [{}, ...series.map((s): uPlot.Series => ({ label: s.label, stroke: s.colour, width: 1.5, dash: s.dash, points: { show: (plot) => plot.data[0].length < 4, size: 5 }, spanGaps: true }))],
    };
  }
}

export class Plots {
  private readonly parent: HTMLElement;
  private residual: Plot;
  private readonly energy: Plot;
  private readonly penetration: Plot;
  private readonly time: Plot;
  private samples: Sample[][] = [[], []];
  private drawn = 0;
  private fixed = false;
  private head: Head | null = null;
  /** Energy of the first step seen [J]. */
  private start: number | null = null;

  constructor(parent: HTMLElement) {
    this.parent = parent;
    this.residual = new Plot(parent, ...LAST_STEP);
    this.energy = new Plot(parent, "Energy", "J", "time [s]");
    this.penetration = new Plot(parent, "Worst penetration", "mm", "time [s]");
    // One slow step must not hide all others.
    this.time = new Plot(parent, "Time per step", "ms", "time [s]", true);
  }

  begin(layout: Layout): void {
    if (this.fixed !== (layout.recording !== null)) {
      this.fixed = !this.fixed;
      const old = this.parent.firstElementChild!;
      this.residual.reset();
      this.residual = this.fixed ? new Plot(this.parent, ...EVERY_STEP) : new Plot(this.parent, ...LAST_STEP);
      old.replaceWith(this.parent.lastElementChild!);
    }
    this.samples = [layout.recording?.samples ?? [], []];
    this.start = null;
    this.restyle();
    if (this.fixed) this.draw();
  }

  /** Colours changed: everything is drawn anew. */
  restyle(): void {
    for (const plot of [this.residual, this.energy, this.penetration, this.time]) plot.reset();
    this.drawn = 0;
    if (this.head || this.fixed) this.draw();
  }

  add(head: Head): void {
    this.head = head;
    head.panes.forEach((pane, i) => {
      const known = (this.samples[i] ??= []);
      const first = pane.samples[0];
      if (first) this.start ??= first.kinetic + first.potential;
      for (const sample of pane.samples) {
        if ((known.at(-1)?.step ?? 0) < sample.step) known.push(sample);
      }
      if (KEPT + 200 < known.length) known.splice(0, known.length - KEPT);
    });
    if (!this.fixed) this.samples.length = Math.max(head.panes.length, 1);
    if (performance.now() - this.drawn < PERIOD) return;
    this.drawn = performance.now();
    if (this.fixed) for (const plot of [this.residual, this.energy, this.penetration, this.time]) plot.stand(head.time);
    else this.draw();
  }

  private draw(): void {
    const names = this.samples.length < 2 || this.fixed ? [""] : ["A ", "B "];
    const used = this.samples.slice(0, names.length);
    const colour = (i: number) => PANES[i] ?? PANES[0];
    this.drawResidual(names);
    const over = (value: (sample: Sample) => number): (number | null)[][] => joined(used.map((list) => list.map((s) => [s.time, value(s)])));
    if (names.length === 1) {
      const [times, total] = over((s) => s.kinetic + s.potential);
      this.energy.draw(
        [{ label: "total", colour: PANES[0] }, { label: "kinetic", colour: PANES[1], dash: [5, 3] }, { label: "potential", colour: "#30a46c", dash: [2, 2] }],
        [times!, total!, over((s) => s.kinetic)[1]!, over((s) => s.potential)[1]!],
      );
    } else {
      // How far two solvers drift is far below what there is.
      this.energy.draw(names.map((name, i) => ({ label: `${name}total − start`, colour: colour(i) })), over((s) => s.kinetic + s.potential - (this.start ?? 0)));
    }
    const each = (label: string) => names.map((name, i) => ({ label: `${name}${label}`, colour: colour(i) }));
    this.penetration.draw(each("penetration"), over((s) => 1e3 * s.penetration));
    this.time.draw(each("step"), over((s) => s.ms));
  }

  private drawResidual(names: string[]): void {
    if (this.fixed) {
      const list = this.samples[0]!.map((s): [number, number | null] => [s.time, positive(s.law)]);
      this.residual.draw([{ label: "law", colour: PANES[0] }], joined([list]));
      return;
    }
    const panes = this.head?.panes ?? [];
    const lists = names.map((_, i) => (panes[i]?.numbers?.history ?? []).map(([sweep, law]): [number, number | null] => [sweep, positive(law)]));
    this.residual.draw(names.map((name, i) => ({ label: `${name}law`, colour: PANES[i] ?? PANES[0] })), joined(lists));
  }
}

function positive(x: number | null): number | null {
  return x !== null && 0 < x ? x : null;
}

/** Lists of points over one axis, as the plots want them. */
function joined(lists: [number, number | null][][]): (number | null)[][] {
  if (lists.length === 1) return [lists[0]!.map((p) => p[0]), lists[0]!.map((p) => p[1])];
  const xs = [...new Set(lists.flatMap((list) => list.map((p) => p[0])))].sort((a, b) => a - b);
  return [xs, ...lists.map((list) => {
    const known = new Map(list);
    return xs.map((x) => known.get(x) ?? null);
  })];
}
