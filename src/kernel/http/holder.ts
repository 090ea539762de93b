import { networksOf } from './client-address.ts';
import type { Caller } from './define-route.ts';

/** Who a request takes a place for (`src/kernel/places`). */
export interface RequestHolder {
  /** The account or, without a key, the address. */
  readonly caller: string;
  /** In IPv6 the /64. */
  readonly address: string;
  /** In IPv6 the /48. */
  readonly network: string | undefined;
}

export function holderOf(request: { readonly caller?: Caller | undefined; readonly ip: string }): RequestHolder {
  const { nearest: address, wider: network } = networksOf(request.ip);
  const { caller } = request;
  return { caller: caller === undefined ? address : `account ${caller.accountId}`, address, network };
}
