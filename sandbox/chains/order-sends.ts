import { fromRlp, type Hex } from 'viem';
import type { RpcCall } from './evm-node.ts';

/**
 * Orders transactions that arrive together by nonce, so that each can be mined at once. Other calls between them keep their
 * place.
 */
export function orderSends<Item extends { readonly calls: readonly RpcCall[] }>(items: readonly Item[]): Item[] {
  const ordered: Item[] = [];
  let run: { readonly item: Item; readonly nonce: bigint }[] = [];
  const endRun = () => {
    ordered.push(...run.sort((a, b) => Number(a.nonce - b.nonce)).map(({ item }) => item));
    run = [];
  };
  for (const item of items) {
    const [call, ...more] = item.calls;
    if (call?.method === 'eth_sendRawTransaction' && more.length === 0) {
      run.push({ item, nonce: nonceOf(call.params[0]) });
      continue;
    }
    endRun();
    ordered.push(item);
  }
  endRun();
  return ordered;
}

/** 0 if it is not a transaction; the node reports the error. */
function nonceOf(raw: unknown): bigint {
  try {
    const hex = raw as Hex;
    // A typed transaction starts with its type, and its chain id precedes the nonce.
    const isLegacy = Number.parseInt(hex.slice(2, 4), 16) >= 0xc0;
    const fields = fromRlp(isLegacy ? hex : `0x${hex.slice(4)}`) as Hex[];
    const nonce = fields[isLegacy ? 0 : 1] ?? '0x';
    return nonce === '0x' ? 0n : BigInt(nonce);
  } catch {
    return 0n;
  }
}
