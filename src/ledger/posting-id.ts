import { fromTypeId, newUuid, toTypeId } from '../kernel/ids/typeid.ts';

/** The public id of a posting, a TypeID. The database stores the UUID. */
export type PostingId = `trf_${string}`;

export function newPostingId(): PostingId {
  return toPostingId(newUuid(Date.now()));
}

/** From a UUID with or without hyphens. */
export function toPostingId(uuid: string): PostingId {
  return toTypeId('trf', uuid);
}

/** As 32 hex digits; undefined when the text is not the id of a posting. */
export function toPostingUuid(id: string): string | undefined {
  return fromTypeId('trf', id);
}
