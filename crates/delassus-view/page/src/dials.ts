/** Sliders for the joints of robots and for what their actuators are asked for, and the states that robots come with. */

import { number } from "./format";
import type { Command, DialLine, Layout } from "./protocol";

/** Numbers per joint in a frame: position, velocity, force, what is asked for. */
const STRIDE = 4;
/** Sliders shown at most. */
const MOST = 120;
/** Messages are not sent more often than this [ms]. */
const PERIOD = 30;
/** A slider of a motor goes no further: what it may give can be far beyond what is of use [N m or N]. */
const MOST_FORCE = 1000;

interface Slider { dial: number; range: HTMLInputElement; text: HTMLElement; held: boolean; pending: number | null }

export class Dials {
  private joints: Slider[] = [];
  private actuators: Slider[] = [];
  private lines: DialLine[] = [];

  constructor(
    private readonly jointHolder: HTMLElement, private readonly actuatorHolder: HTMLElement, private readonly keyHolder: HTMLElement,
    private readonly send: (command: Command) => void,
  ) {
    this.hideEmpty();
  }

  setLayout(layout: Layout): void {
    this.lines = layout.dials;
    const live = layout.recording === null;
    this.jointHolder.replaceChildren();
    this.actuatorHolder.replaceChildren();
    this.joints = this.lines.slice(0, MOST).map((line, dial) => this.slider(this.jointHolder, line, dial, reach(line), live, (position) => ({ type: "joint", dial, position })));
    this.actuators = [];
    this.lines.slice(0, MOST).forEach((line, dial) => {
      if (line.actuator === null) return;
      const ends = line.actuator === "position" ? reach(line) : force(line.actuator.force);
      this.actuators.push(this.slider(this.actuatorHolder, line, dial, ends, live, (value) => ({ type: "actuator", dial, value })));
    });
    if (MOST < this.lines.length) {
      const note = document.createElement("p");
      note.textContent = `The first ${MOST} of ${this.lines.length} joints.`;
      this.jointHolder.append(note);
    }
    this.keyframes(layout, live);
    this.hideEmpty();
  }

  private hideEmpty(): void {
    this.jointHolder.parentElement!.hidden = this.joints.length === 0;
    this.actuatorHolder.parentElement!.hidden = this.actuators.length === 0;
    this.keyHolder.parentElement!.hidden = this.keyHolder.childElementCount === 0;
  }

  private keyframes(layout: Layout, live: boolean): void {
    const several = new Set(layout.keyframes.map((key) => key.robot)).size > 1;
    this.keyHolder.replaceChildren(...layout.keyframes.map((key, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = several ? `${key.robot}: ${key.name}` : key.name;
      button.disabled = !live;
      button.onclick = () => this.send({ type: "keyframe", index });
      return button;
    }));
  }

  private slider(holder: HTMLElement, line: DialLine, dial: number, [low, high]: [number, number], live: boolean, command: (value: number) => Command): Slider {
    const label = document.createElement("label");
    const range = document.createElement("input");
    const text = document.createElement("output");
    range.type = "range";
    range.id = `${holder.id}-${dial}`;
    range.min = String(low);
    range.max = String(high);
    range.step = String((high - low) / 1000);
    range.disabled = !live;
    label.htmlFor = range.id;
    label.textContent = line.name || `joint ${dial + 1}`;
    label.title = `${line.name} of ${line.robot}`;
    const slider: Slider = { dial, range, text, held: false, pending: null };
    range.oninput = () => {
      slider.held = true;
      if (slider.pending === null) {
        setTimeout(() => {
          if (slider.pending !== null) this.send(command(slider.pending));
          slider.pending = null;
        }, PERIOD);
      }
      slider.pending = Number(range.value);
    };
    range.onchange = () => (slider.held = false);
    holder.append(label, range, text);
    return slider;
  }

  /** Sliders follow what moves, but not while a hand is on them. */
  frame(numbers: Float32Array): void {
    const follow = (slider: Slider, value: number, text: string) => {
      if (!slider.held && slider.pending === null) {
        const shown = String(value);
        if (slider.range.value !== shown) slider.range.value = shown;
      }
      if (slider.text.textContent !== text) slider.text.textContent = text;
      slider.range.setAttribute("aria-valuetext", text);
    };
    for (const slider of this.joints) {
      const unit = this.lines[slider.dial]!.kind === "slide" ? "m" : "rad";
      const [q = 0, speed = 0] = numbers.subarray(STRIDE * slider.dial);
      follow(slider, q, `${short(q)} ${unit}`);
      slider.text.title = `${number(speed)} ${unit}/s`;
    }
    for (const slider of this.actuators) {
      const line = this.lines[slider.dial]!;
      const [, , strength = 0, asked = 0] = numbers.subarray(STRIDE * slider.dial);
      const unit = line.kind === "slide" ? "N" : "N m";
      const angle = line.kind === "slide" ? "m" : "rad";
      const text = line.actuator === "position" ? `${short(asked)} ${angle}, ${short(strength)} ${unit}` : `${short(strength)} ${unit}`;
      follow(slider, asked, text);
    }
  }
}

function short(x: number): string {
  return (Math.abs(x) < 5e-4 ? "0" : Math.abs(x) < 1000 ? String(Number(x.toPrecision(3))) : number(x, 3)).replace("-", "−");
}

/** How far a slider goes where the joint has no limits: half a turn or a metre either way. */
function reach(line: DialLine): [number, number] {
  if (line.range && line.range[0] < line.range[1]) return line.range;
  return line.kind === "slide" ? [-1, 1] : [-Math.PI, Math.PI];
}

function force(most: number): [number, number] {
  const end = Math.min(most, MOST_FORCE);
  return [-end, end];
}
