/** Requests a minute; 0 is unlimited. */
export interface RateLimitConfig {
  readonly free: number;
  readonly pro: number;
  readonly anonymous: number;
  /** Of all addresses of one IPv6 network (/48), of which a single customer may have 65,536 times as many as of an address. */
  readonly network: number;
  /** Of one address, for everything outside the API. */
  readonly pages: number;
  /** Of one address with keys, all of them together. Those of enterprise accounts do not count. */
  readonly address: number;
}
