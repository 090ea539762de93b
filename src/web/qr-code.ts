import { encode } from 'uqr';
import { type Html, html } from './html.ts';

/** The light margin, in modules, that QR readers need. */
const quietZone = 4;

/** Always dark on light, also in dark mode: some readers fail on inverted codes. */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: quietZone });
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}h-${size}z"/><path fill="#000" d="${data.map(rowPath)}"/></svg>`;
}

/** Draws adjacent dark modules as one rectangle. */
function rowPath(row: readonly boolean[], y: number): string {
  let path = '';
  for (let x = 0; x < row.length; ) {
    let end = x;
    while (row[end] === true) end++;
    if (end > x) path += `M${x} ${y}h${end - x}v1h-${end - x}z`;
    x = end + 1;
  }
  return path;
}
