import { fromTypeId, newUuid, toTypeId } from '../kernel/ids/typeid.ts';

/** A posting is known outside as trf_…, a TypeID. The database keeps the UUID. */
export type PostingId = `trf_${string}`;

export function newPostingId(): PostingId {
  return toPostingId(newUuid(Date.now()));
}

/** From a UUID with or without its hyphens. */
export function toPostingId(uuid: string): PostingId {
  return toTypeId('trf', uuid);
}

/** As 32 hex digits; undefined when the text is not the id of a posting. */
export function toPostingUuid(id: string): string | undefined {
  return fromTypeId('trf', id);
}
