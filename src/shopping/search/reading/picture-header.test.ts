import { describe, expect, it } from 'vitest';
import { readPictureHeader } from './picture-header.ts';

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const text = (value: string) => Buffer.from(value, 'latin1').toString('hex');

const png = bytes(`89504e470d0a1a0a 0000000d ${text('IHDR')} 00000280 000001e0 08020000 00`);
const gif = bytes(`${text('GIF89a')} 4001 f000 f7 00 00`);
const jpeg = bytes('ffd8 ffe00010 4a46494600010100000100010000 ffff c0 0011 08 01e0 0280 03 012200 021101 031101');
const webpLossy = bytes(`${text('RIFF')} 00000000 ${text('WEBPVP8 ')} 00000000 000000 9d012a 8002 e001`);
const webpLossless = bytes(`${text('RIFF')} 00000000 ${text('WEBPVP8L')} 00000000 2f 7fc27700`);
const webpExtended = bytes(`${text('RIFF')} 00000000 ${text('WEBPVP8X')} 0a000000 10000000 7f0200 df0100`);
const avif = bytes(
  `0000001c ${text('ftypavif')} 00000000 ${text('mif1avif')} 00000014 ${text('ispe')} 00000000 00000040 00000030 00000014 ${text('ispe')} 00000000 00000280 000001e0`,
);

describe('a picture is known by its bytes', () => {
  it.each([
    ['png', png, { type: 'image/png', width: 640, height: 480 }],
    ['gif', gif, { type: 'image/gif', width: 320, height: 240 }],
    ['jpeg', jpeg, { type: 'image/jpeg', width: 640, height: 480 }],
    ['webp', webpLossy, { type: 'image/webp', width: 640, height: 480 }],
    ['lossless webp', webpLossless, { type: 'image/webp', width: 640, height: 480 }],
    ['extended webp', webpExtended, { type: 'image/webp', width: 640, height: 480 }],
    ['avif', avif, { type: 'image/avif', width: 640, height: 480 }],
  ])('%s', (_name, picture, header) => {
    expect(readPictureHeader({ bytes: picture })).toEqual(header);
    for (let length = 0; length < picture.length; length++) {
      const cut = readPictureHeader({ bytes: picture.subarray(0, length) });
      expect(cut === undefined || cut.type === header.type).toBe(true);
    }
  });

  it('however far behind a smaller size its own is told', () => {
    const far = Buffer.concat([
      avif,
      Buffer.alloc(100_000),
      bytes(`00000014 ${text('ispe')} 00000000 00010000 00010000`),
    ]);
    expect(readPictureHeader({ bytes: far })).toEqual({ type: 'image/avif', width: 65_536, height: 65_536 });
  });

  it.each([
    ['svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
    ['html', '<!doctype html><script>alert(1)</script>'],
    ['nothing', ''],
    ['pdf', '%PDF-1.7'],
    ['bmp', 'BM------'],
  ])('%s is none', (_name, content) => {
    expect(readPictureHeader({ bytes: Buffer.from(content) })).toBeUndefined();
  });

  it('and a JPEG of empty segments ends', () => {
    expect(
      readPictureHeader({ bytes: Buffer.concat([bytes('ffd8'), ...Array<Buffer>(1_000).fill(bytes('ffe00000'))]) }),
    ).toBeUndefined();
    expect(readPictureHeader({ bytes: bytes('ffd8ffffffffffffff') })).toBeUndefined();
  });
});
