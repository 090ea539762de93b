export interface PictureHeader {
  readonly type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp' | 'image/avif';
  readonly width: number;
  readonly height: number;
}

/** Detects type and size from the bytes alone. Everything else is undefined, above all SVG, which can contain scripts. */
export function readPictureHeader(picture: { readonly bytes: Uint8Array }): PictureHeader | undefined {
  const bytes = Buffer.from(picture.bytes.buffer, picture.bytes.byteOffset, picture.bytes.length);
  try {
    return readPng(bytes) ?? readGif(bytes) ?? readJpeg(bytes) ?? readWebp(bytes) ?? readAvif(bytes);
  } catch (error) {
    // The file ends before its size fields.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const hasText = (bytes: Buffer, at: number, text: string) => bytes.toString('latin1', at, at + text.length) === text;

function readPng(bytes: Buffer): PictureHeader | undefined {
  if (!hasText(bytes, 0, '\x89PNG\r\n\x1a\n') || !hasText(bytes, 12, 'IHDR')) return undefined;
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function readGif(bytes: Buffer): PictureHeader | undefined {
  if (!hasText(bytes, 0, 'GIF87a') && !hasText(bytes, 0, 'GIF89a')) return undefined;
  return { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** Walks the segments up to the first frame header. */
function readJpeg(bytes: Buffer): PictureHeader | undefined {
  if (bytes.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let at = 2; at < bytes.length; ) {
    if (bytes.readUInt8(at) !== 0xff) return undefined;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { type: 'image/jpeg', height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    at += 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
  return undefined;
}

function readWebp(bytes: Buffer): PictureHeader | undefined {
  if (!hasText(bytes, 0, 'RIFF') || !hasText(bytes, 8, 'WEBP')) return undefined;
  const type = 'image/webp';
  if (hasText(bytes, 12, 'VP8X')) {
    return { type, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  }
  if (hasText(bytes, 12, 'VP8L')) {
    const bits = bytes.readUInt32LE(21);
    return { type, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (!hasText(bytes, 12, 'VP8 ')) return undefined;
  return { type, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
}

/** An AVIF file can state several sizes, for tiles and for the whole image; the largest counts. */
function readAvif(bytes: Buffer): PictureHeader | undefined {
  if (!hasText(bytes, 4, 'ftyp') || !/avi[fs]/.test(bytes.toString('latin1', 8, 40))) return undefined;
  let [width, height] = [0, 0];
  // The `ispe` box can be anywhere in the file. Its version and flags are zero, which rules out accidental matches.
  const size = 'ispe\0\0\0\0';
  for (let at = bytes.indexOf(size); at !== -1; at = bytes.indexOf(size, at + size.length)) {
    width = Math.max(width, bytes.readUInt32BE(at + 8));
    height = Math.max(height, bytes.readUInt32BE(at + 12));
  }
  return { type: 'image/avif', width, height };
}
