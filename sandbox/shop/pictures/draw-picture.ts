import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32, deflateSync } from 'node:zlib';
import { type Drawing, forms, isPatterned, type Layer } from './forms.ts';

type Colour = readonly [red: number, green: number, blue: number];

const pictureSize = 400;

/** The scale of the drawing. */
const zoom = 1.22;
const rowsInATurn = 20;

const ink: Colour = [38, 44, 46];
const white: Colour = [255, 255, 255];
const sunlight: Colour = [255, 250, 240];

/**
 * Draws a product as PNG: soft shapes on a pale ground, lit from the upper left. It yields every few rows, because the process
 * also answers requests.
 */
export async function drawPicture(drawing: Drawing): Promise<Buffer> {
  const size = pictureSize;
  const pixels = Buffer.alloc(size * size * 3);
  const paints = mixPaints(drawing);
  const step = (2 * zoom) / size;
  for (let row = 0; row < size; row++) {
    if (row % rowsInATurn === 0) await nextTurn();
    const y = (row + 0.5) * step - zoom;
    for (let column = 0; column < size; column++) {
      const x = (column + 0.5) * step - zoom;
      const at = (row * size + column) * 3;
      pixels.set(paints.ground, at);
      blend(pixels, at, white, Math.max(0, 0.35 - 0.25 * y));
      const shadow = shadowAt(x, y);
      if (shadow > 0) blend(pixels, at, ink, 0.2 * shadow);
      for (const { shape, paint } of forms[drawing.form]) {
        const cover = 0.5 - shape(x, y) / step;
        if (cover <= 0) continue;
        const covered = Math.min(1, cover);
        const colour = paint === 'body' && isPatterned(drawing, x, y) ? paints.accent : paints[paint];
        blend(pixels, at, colour, covered);
        const light = -0.55 * x - 0.35 * y;
        blend(pixels, at, light > 0 ? sunlight : ink, covered * Math.min(0.24, Math.abs(light) * 0.24));
      }
    }
  }
  return encodePng(size, size, pixels);
}

function mixPaints(drawing: Drawing): Readonly<Record<Layer['paint'] | 'ground', Colour>> {
  const colour = toColour(drawing.colour);
  return {
    ground: mix(colour, [255, 253, 249], 0.84),
    body: colour,
    colour: mix(colour, ink, 0.08),
    accent: toColour(drawing.accent),
    shade: mix(colour, ink, 0.3),
    light: mix(colour, white, 0.55),
    leaf: [104, 140, 92],
    flame: [240, 186, 92],
  };
}

function shadowAt(x: number, y: number): number {
  const distance = Math.hypot((x - 0.06) / 0.78, (y - 0.74) / 0.13);
  return distance < 1 ? (1 - distance) ** 0.8 : 0;
}

function blend(pixels: Buffer, at: number, colour: Colour, share: number): void {
  for (let channel = 0; channel < 3; channel++) {
    const before = pixels[at + channel] ?? 0;
    pixels[at + channel] = before + ((colour[channel] ?? 0) - before) * share + 0.5;
  }
}

function mix(from: Colour, to: Colour, share: number): Colour {
  const between = (channel: 0 | 1 | 2) => from[channel] + (to[channel] - from[channel]) * share;
  return [between(0), between(1), between(2)];
}

function toColour(hex: string): Colour {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Eight bits per channel, RGB. */
export function encodePng(width: number, height: number, pixels: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  // The Sub filter stores the difference to the previous pixel, which compresses smooth areas well.
  const stride = width * 3;
  const lines = Buffer.alloc((stride + 1) * height);
  for (let row = 0; row < height; row++) {
    const to = row * (stride + 1);
    lines[to] = 1;
    for (let index = 0; index < stride; index++) {
      const at = row * stride + index;
      lines[to + 1 + index] = ((pixels[at] ?? 0) - (index < 3 ? 0 : (pixels[at - 3] ?? 0))) & 255;
    }
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(data.length, 0);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}
