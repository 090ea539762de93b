import { encode } from 'uqr';
import { expect, it } from 'vitest';
import { qrCode } from './qr-code.ts';

const address = 'https://pay.example/invoice/4fKq0ZtR7nXv2bLmW9cYsD1e';

/** Reads the drawing back, rectangle by rectangle. */
function drawnModules(svg: string): boolean[][] {
  const size = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)?.[1]);
  const modules = Array.from({ length: size }, () => Array<boolean>(size).fill(false));
  const dark = /fill="#000" d="([^"]*)"/.exec(svg)?.[1] ?? '';
  for (const [, x, y, width] of dark.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
    for (let step = 0; step < Number(width); step++) (modules[Number(y)] ?? [])[Number(x) + step] = true;
  }
  return modules;
}

it('draws every module of the code, dark on light, with four light ones around it', () => {
  const svg = qrCode(address, 'The address').toString();
  const modules = drawnModules(svg);
  expect(modules).toEqual(encode(address, { ecc: 'M', border: 4 }).data);
  expect(modules.slice(0, 4).flat()).not.toContain(true);
  expect(modules[4]?.slice(4, 11)).toEqual(Array(7).fill(true));
});

it('is named for those who cannot see it, and needs no inline style', () => {
  const svg = qrCode(address, 'The "address"').toString();
  expect(svg).toContain('role="img" aria-label="The &quot;address&quot;"');
  expect(svg).not.toMatch(/style=|<script|href/);
});
