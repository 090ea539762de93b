/** Places as stored: four bytes each. */
export function encodePlaces(places: Uint32Array): Buffer {
  const bytes = Buffer.alloc(places.length * 4);
  for (const [index, place] of places.entries()) bytes.writeUInt32BE(place, index * 4);
  return bytes;
}

export function decodePlaces(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readUInt32BE(index * 4));
}
