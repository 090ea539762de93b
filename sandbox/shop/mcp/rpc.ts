import type { Fields } from '../ucp-versions.ts';

export interface RpcRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: Fields;
}

/** Ends a request with a JSON-RPC error. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: object | undefined;

  constructor(code: number, message: string, data?: object) {
    super(message);
    this.code = code;
    this.data = data;
  }
}
