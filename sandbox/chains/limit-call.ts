import { type Hex, isHex, toHex } from 'viem';
import { type RpcCall, usualGas } from './evm-node.ts';

/**
 * Enough for any call of ours, and for any contract to be made. The node writes down every step that it takes: a loop of thirty
 * million took it ten seconds and three gigabytes, and it has no way to be stopped.
 */
const mostGas = 10_000_000n;

/** A trace says something about every step, so the answer would be a hundred times as long. */
const mostTracedGas = 1_000_000n;

const limits: Readonly<Record<string, bigint>> = {
  eth_call: mostGas,
  eth_estimateGas: mostGas,
  debug_traceCall: mostTracedGas,
};

/** Whether a call runs code that somebody else has written, for as long as its gas lasts. */
export function runsCode({ method }: Pick<RpcCall, 'method'>): boolean {
  return Object.hasOwn(limits, method);
}

/** Such a call gets no more gas than is allowed, however much it asks for: without a limit it would run for as long as it likes. */
export function limitCall(call: RpcCall): RpcCall {
  const most = runsCode(call) ? limits[call.method] : undefined;
  const [request, ...rest] = call.params;
  if (most === undefined || typeof request !== 'object' || request === null) return call;
  const { gas } = request as { gas?: unknown };
  if ((isQuantity(gas) ? BigInt(gas) : usualGas) <= most) return call;
  return { ...call, params: [{ ...request, gas: toHex(most) }, ...rest] };
}

/** The node reads much more than that as a number, plain ones, `0X…` and `0b…` among it: whatever it is, it gets what is allowed. */
function isQuantity(value: unknown): value is Hex {
  return isHex(value) && value.length > 2;
}
