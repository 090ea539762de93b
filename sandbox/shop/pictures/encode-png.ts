import { crc32, deflateSync } from 'node:zlib';

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
