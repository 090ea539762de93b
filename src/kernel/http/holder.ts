import { networksOf } from './client-address.ts';
import type { Caller } from './define-route.ts';

/** The owners whose places a request takes (`src/kernel/places`). */
export interface RequestHolder {
  /** The account, or the address if there is no key. */
  readonly caller: string;
  /** A /64 in IPv6. */
  readonly address: string;
  /** The /48 in IPv6. */
  readonly network: string | undefined;
}

export function holderOf(request: { readonly caller?: Caller | undefined; readonly ip: string }): RequestHolder {
  const { nearest: address, wider: network } = networksOf(request.ip);
  const { caller } = request;
  return { caller: caller === undefined ? address : `account ${caller.accountId}`, address, network };
}
