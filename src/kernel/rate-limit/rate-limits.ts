/** Requests per minute; 0 is unlimited. */
export interface RateLimits {
  readonly free: number;
  readonly pro: number;
  readonly anonymous: number;
  /** Per IPv6 /48 network. A single customer may hold all of its 65,536 /64 networks. */
  readonly network: number;
  /** Per address, for everything outside the API. */
  readonly pages: number;
  /** Per address, for all keys together. Keys of enterprise accounts do not count. */
  readonly address: number;
}
