import {
  above,
  below,
  box,
  circle,
  ellipse,
  ring,
  type Shape,
  stroke,
  tapered,
  together,
  within,
  without,
} from './shapes.ts';

export interface Drawing {
  readonly form: keyof typeof forms;
  readonly colour: string;
  readonly accent: string;
  readonly pattern: keyof typeof patterns;
}

/** The body takes the product's pattern. */
export interface Layer {
  readonly shape: Shape;
  readonly paint: 'colour' | 'accent' | 'shade' | 'light' | 'leaf' | 'flame' | 'body';
}

const body = (shape: Shape): Layer => ({ shape, paint: 'body' });
const of = (paint: Layer['paint'], shape: Shape): Layer => ({ shape, paint });

/** From back to front. */
export const forms = {
  mug: [
    of('colour', without(ring(0.46, 0.08, 0.24, 0.065), box(-0.1, 0.08, 0.5, 0.6))),
    body(tapered(-0.05, -0.42, 0.52, 0.46, 0.42, 0.1)),
    of('shade', ellipse(-0.05, -0.4, 0.42, 0.07)),
  ],
  cup: [
    of('accent', ellipse(0, 0.42, 0.68, 0.1)),
    of('colour', ring(0.4, 0.08, 0.14, 0.05)),
    body(within(tapered(0, -0.2, 0.42, 0.44, 0.22, 0.12), above(0.42))),
    of('shade', ellipse(0, -0.18, 0.4, 0.06)),
  ],
  teapot: [
    of('accent', without(ring(0.1, -0.28, 0.38, 0.04), below(-0.2))),
    of('colour', stroke(-0.35, 0.2, -0.74, -0.22, 0.09)),
    body(ellipse(0.06, 0.16, 0.54, 0.42)),
    of('light', ellipse(0.06, -0.24, 0.3, 0.06)),
    of('colour', ellipse(0.06, -0.27, 0.28, 0.06)),
    of('accent', circle(0.06, -0.37, 0.07)),
  ],
  bowl: [
    body(within(ellipse(0, -0.12, 0.7, 0.62), below(-0.12))),
    of('shade', ellipse(0, -0.12, 0.7, 0.12)),
    of('colour', box(0, 0.5, 0.24, 0.05, 0.03)),
  ],
  plate: [body(circle(0, 0, 0.72)), of('light', ring(0, 0, 0.5, 0.012)), of('light', circle(0, 0, 0.47))],
  board: [
    body(together(box(0, 0.14, 0.46, 0.52, 0.12), box(0, -0.52, 0.13, 0.26, 0.1))),
    of('shade', circle(0, -0.62, 0.05)),
  ],
  bottle: [
    of('accent', box(0, -0.66, 0.11, 0.1, 0.03)),
    body(together(tapered(0, -0.22, 0.64, 0.3, 0.32, 0.1), tapered(0, -0.6, -0.1, 0.12, 0.24, 0.04))),
    of('light', box(-0.17, 0.18, 0.03, 0.3, 0.03)),
  ],
  glass: [
    body(tapered(-0.24, -0.4, 0.44, 0.28, 0.24, 0.05)),
    of('shade', ellipse(-0.24, -0.38, 0.26, 0.05)),
    body(tapered(0.3, -0.26, 0.56, 0.28, 0.24, 0.05)),
    of('shade', ellipse(0.3, -0.24, 0.26, 0.05)),
  ],
  cloth: [
    of('shade', box(0.04, 0.36, 0.6, 0.14, 0.08)),
    of('colour', box(0, 0.22, 0.62, 0.16, 0.1)),
    body(box(0, -0.08, 0.62, 0.34, 0.1)),
  ],
  apron: [
    of('accent', without(ring(0, -0.52, 0.2, 0.03), below(-0.46))),
    of('accent', stroke(-0.62, 0.0, 0.62, 0.0, 0.025)),
    body(together(tapered(0, -0.5, 0.0, 0.24, 0.46, 0.05), box(0, 0.3, 0.48, 0.36, 0.06))),
    of('shade', box(0, 0.28, 0.24, 0.16, 0.04)),
  ],
  jar: [
    body(box(0, 0.14, 0.42, 0.48, 0.16)),
    of('accent', box(0, 0.2, 0.3, 0.18, 0.02)),
    of('shade', box(0, -0.42, 0.36, 0.1, 0.04)),
    of('light', box(-0.3, 0.1, 0.025, 0.28, 0.02)),
  ],
  tin: [
    body(box(0, 0.12, 0.44, 0.5, 0.05)),
    of('shade', box(0, -0.44, 0.46, 0.09, 0.05)),
    of('light', box(-0.34, 0.14, 0.02, 0.36, 0.02)),
  ],
  bag: [
    body(tapered(0, -0.46, 0.62, 0.4, 0.46, 0.06)),
    of('shade', box(0, -0.5, 0.42, 0.1, 0.03)),
    of('accent', circle(0, 0.1, 0.17)),
  ],
  candle: [
    of('flame', ellipse(0, -0.62, 0.07, 0.15)),
    of('shade', stroke(0, -0.5, 0, -0.4, 0.015)),
    body(box(0, 0.12, 0.22, 0.54, 0.06)),
    of('light', ellipse(0, -0.4, 0.2, 0.04)),
    of('accent', ellipse(0, 0.64, 0.44, 0.07)),
  ],
  lamp: [
    of('flame', ellipse(-0.16, 0.0, 0.4, 0.12)),
    of('colour', stroke(0.4, 0.6, 0.32, -0.14, 0.035)),
    of('colour', stroke(0.32, -0.14, -0.1, -0.5, 0.035)),
    of('accent', circle(0.32, -0.14, 0.06)),
    body(tapered(-0.16, -0.52, -0.02, 0.12, 0.38, 0.04)),
    of('colour', box(0.36, 0.62, 0.3, 0.05, 0.04)),
  ],
  lantern: [
    of('accent', stroke(0, -0.9, 0, -0.6, 0.012)),
    body(ellipse(0, 0, 0.6, 0.6)),
    of('accent', box(0, -0.57, 0.2, 0.05, 0.02)),
    of('accent', box(0, 0.57, 0.2, 0.05, 0.02)),
  ],
  cushion: [
    body(without(box(0, 0, 0.64, 0.6, 0.2), together(circle(0, -1.5, 0.94), circle(0, 1.5, 0.94)))),
    of('accent', circle(0, 0, 0.045)),
  ],
  basket: [
    of('colour', without(ring(0, -0.12, 0.44, 0.045), below(-0.1))),
    body(tapered(0, -0.12, 0.58, 0.6, 0.46, 0.1)),
    of('accent', box(0, -0.12, 0.62, 0.055, 0.05)),
  ],
  vase: [
    of('leaf', stroke(0.02, -0.3, 0.2, -0.82, 0.018)),
    of('leaf', ellipse(0.28, -0.66, 0.12, 0.05)),
    of('flame', circle(0.21, -0.82, 0.09)),
    body(together(ellipse(0, 0.26, 0.36, 0.4), tapered(0, -0.4, 0.1, 0.13, 0.18, 0.05))),
    of('shade', ellipse(0, -0.38, 0.11, 0.03)),
  ],
  planter: [
    of('leaf', ellipse(-0.26, -0.42, 0.13, 0.34)),
    of('leaf', ellipse(0.26, -0.42, 0.13, 0.34)),
    of('leaf', ellipse(0, -0.5, 0.14, 0.42)),
    body(tapered(0, -0.06, 0.64, 0.48, 0.34, 0.05)),
    of('shade', box(0, -0.08, 0.54, 0.1, 0.04)),
  ],
  clock: [
    of('accent', circle(0, 0, 0.68)),
    body(circle(0, 0, 0.61)),
    of('accent', stroke(0, 0, 0, -0.42, 0.025)),
    of('accent', stroke(0, 0, 0.26, 0.16, 0.03)),
    of(
      'accent',
      together(
        ...[0, 90, 180, 270].map((turn) =>
          circle(0.52 * Math.cos((turn * Math.PI) / 180), 0.52 * Math.sin((turn * Math.PI) / 180), 0.03),
        ),
      ),
    ),
    of('flame', circle(0, 0, 0.05)),
  ],
  notebook: [
    of('light', box(0.05, 0.05, 0.46, 0.6, 0.04)),
    body(box(0, 0, 0.46, 0.6, 0.05)),
    of('shade', box(-0.38, 0, 0.08, 0.6, 0.04)),
    of('light', box(0.08, -0.28, 0.22, 0.1, 0.02)),
  ],
  pencils: [-0.42, -0.14, 0.14, 0.42].flatMap((x, index) => [
    body(box(x, 0.14, 0.1, 0.5, 0.02)),
    of('light', within(tapered(x, -0.62, -0.34, 0.012, 0.1, 0.005), above(-0.34))),
    of('accent', tapered(x, -0.66, -0.54, 0.006, 0.03, 0.004)),
    of(index % 2 === 0 ? 'shade' : 'accent', box(x, 0.6, 0.1, 0.06, 0.02)),
  ]),
  ruler: [
    body(box(0, 0, 0.22, 0.74, 0.03)),
    of(
      'accent',
      together(
        ...Array.from({ length: 13 }, (_, index) =>
          stroke(0.2, -0.66 + index * 0.11, index % 2 === 0 ? 0.04 : 0.11, -0.66 + index * 0.11, 0.009),
        ),
      ),
    ),
    of('light', circle(-0.1, -0.62, 0.05)),
  ],
  tote: [
    of('accent', without(ring(0, -0.28, 0.26, 0.03), below(-0.24))),
    body(tapered(0, -0.26, 0.62, 0.46, 0.54, 0.05)),
    of('accent', circle(0, 0.18, 0.15)),
  ],
  scarf: [
    body(box(-0.2, 0.26, 0.17, 0.46, 0.04)),
    body(box(0.2, 0.16, 0.17, 0.44, 0.04)),
    of('shade', ellipse(0, -0.34, 0.56, 0.26)),
    of('colour', ellipse(0, -0.38, 0.5, 0.22)),
    of('shade', ellipse(0, -0.42, 0.28, 0.1)),
  ],
  shirt: [
    body(
      together(
        tapered(0, -0.52, 0.62, 0.36, 0.42, 0.05),
        stroke(-0.32, -0.4, -0.66, 0.02, 0.12),
        stroke(0.32, -0.4, 0.66, 0.02, 0.12),
      ),
    ),
    of('shade', ellipse(0, -0.5, 0.16, 0.1)),
    of('accent', together(...[-0.28, -0.04, 0.2, 0.44].map((y) => circle(0, y, 0.032)))),
  ],
  umbrella: [
    of('accent', stroke(0, -0.5, 0, 0.56, 0.03)),
    of('accent', without(ring(-0.11, 0.56, 0.11, 0.03), above(0.56))),
    body(
      without(
        within(circle(0, 0.02, 0.72), above(0.06)),
        together(ellipse(-0.48, 0.1, 0.24, 0.12), ellipse(0, 0.1, 0.24, 0.12), ellipse(0.48, 0.1, 0.24, 0.12)),
      ),
    ),
    of('accent', stroke(0, -0.8, 0, -0.7, 0.02)),
  ],
  postcard: [
    of('light', box(0, 0, 0.76, 0.54, 0.03)),
    body(box(0, 0, 0.68, 0.46, 0.02)),
    of('flame', circle(0.3, -0.16, 0.14)),
    of('shade', within(ellipse(-0.2, 0.5, 0.6, 0.36), box(0, 0, 0.68, 0.46, 0.02))),
    of('light', within(ellipse(0.4, 0.56, 0.6, 0.34), box(0, 0, 0.68, 0.46, 0.02))),
  ],
} satisfies Readonly<Record<string, readonly Layer[]>>;

/** Whether the accent covers the body here. */
export function isPatterned({ pattern }: Drawing, x: number, y: number): boolean {
  return patterns[pattern](x, y);
}

const patterns = {
  plain: () => false,
  band: (_x, y) => Math.abs(y - 0.24) < 0.07,
  rim: (_x, y) => y < -0.32,
  stripes: (_x, y) => isNear(y + 0.06, 0.2, 0.035),
  checks: (x, y) => isNear(x, 0.22, 0.03) || isNear(y, 0.22, 0.03),
  dots(x, y) {
    const row = Math.round(y / 0.17);
    const shift = row % 2 === 0 ? 0 : 0.11;
    const column = Math.round((x - shift) / 0.22);
    return Math.hypot(x - shift - column * 0.22, y - row * 0.17) < 0.035;
  },
} satisfies Record<string, (x: number, y: number) => boolean>;

function isNear(value: number, every: number, half: number): boolean {
  const rest = ((value % every) + every) % every;
  return Math.min(rest, every - rest) < half;
}
