/** Numbers as a reader wants them; the whole number stands in the tooltip. */

export function number(x: number | null | undefined, digits = 4): string {
  if (x === null || x === undefined) return "∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e6) return String(x).replace("-", "−");
  if (size < 1e-3 || 1e5 <= size) {
    const [mantissa, exponent] = x.toExponential(digits - 2).split("e");
    return `${mantissa}e${Number(exponent)}`.replace("-", "−").replace("e-", "e−");
  }
  const text = x.toPrecision(digits);
  return (text.includes("e") ? String(Number(text)) : text).replace("-", "−");
}

export function vector(v: readonly number[]): string {
  return v.map((x) => (Math.abs(x) < 5e-5 ? "0" : x.toFixed(Math.abs(x) < 10 ? 3 : 2)).replace("-", "−")).join(", ");
}

export function norm(v: readonly number[]): number {
  return Math.hypot(...v);
}
