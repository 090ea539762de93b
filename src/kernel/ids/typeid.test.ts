import fc from 'fast-check';
import { TypeID } from 'typeid-js';
import { expect, it } from 'vitest';
import { fromTypeId, newUuid, toTypeId } from './typeid.ts';

it('writes and reads the ids that the reference implementation does', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.constantFrom('trf', 'evt', 'req'), (uuid, prefix) => {
      const id = TypeID.fromUUID(prefix, uuid).toString();
      expect(toTypeId(prefix, uuid)).toBe(id);
      expect(toTypeId(prefix, uuid.replaceAll('-', ''))).toBe(id);
      expect(fromTypeId(prefix, id)).toBe(uuid.replaceAll('-', ''));
    }),
  );
});

it('makes UUIDs of version 7, no two alike', () => {
  const uuids = Array.from({ length: 2_000 }, () => newUuid(Date.now()));
  expect(new Set(uuids).size).toBe(uuids.length);
  for (const uuid of uuids) expect(uuid).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
});

it('sorts what was made within a millisecond in the order in which it was made', () => {
  const now = Date.now();
  const uuids = Array.from({ length: 2_000 }, () => newUuid(now));
  expect(uuids.toSorted()).toEqual(uuids);
  expect(newUuid(now + 1) > (uuids.at(-1) ?? '')).toBe(true);
});

it.each([
  '',
  'trf_',
  'trf_01h455vb4pex5vsknk084sn02',
  'wdr_01h455vb4pex5vsknk084sn02q',
  'trf_81h455vb4pex5vsknk084sn02q',
  'trf_01h455vb4pex5vsknk084sn0iq',
  'trf_01h455vb4pex5vsknk084sn0éq',
])('does not take %j for the id of a transfer', (text) => {
  expect(fromTypeId('trf', text)).toBeUndefined();
});
