import fc from 'fast-check';
import { TypeID } from 'typeid-js';
import { expect, it } from 'vitest';
import { newPostingId, toEventId, toPostingId, toPostingUuid } from './posting-id.ts';

it('writes and reads the ids that TypeID does', () => {
  fc.assert(
    fc.property(fc.uuid({ version: 7 }), (uuid) => {
      const id = TypeID.fromUUID('trf', uuid).toString();
      expect(toPostingId(uuid)).toBe(id);
      expect(toPostingUuid(id)).toBe(uuid.replaceAll('-', ''));
      expect(toEventId(uuid)).toBe(TypeID.fromUUID('evt', uuid).toString());
    }),
  );
});

it('makes ids of version 7 that no two postings share', () => {
  const ids = Array.from({ length: 2_000 }, () => newPostingId());
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(toPostingUuid(id)).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
});

it.each([
  '',
  'trf_',
  'trf_01h455vb4pex5vsknk084sn02',
  'wdr_01h455vb4pex5vsknk084sn02q',
  'trf_81h455vb4pex5vsknk084sn02q',
  'trf_01h455vb4pex5vsknk084sn0iq',
  'trf_01h455vb4pex5vsknk084sn0éq',
])('does not take %j for one', (text) => {
  expect(toPostingUuid(text)).toBeUndefined();
});
