import { type Hex, isHex, toHex } from 'viem';
import { type RpcCall, usualGas } from './evm-node.ts';

/**
 * Enough for any call of ours and any contract creation. EDR records every step and cannot be interrupted: a loop of thirty
 * million gas took ten seconds and three gigabytes.
 */
const mostGas = 10_000_000n;

/** A trace reports every step, so its response is about a hundred times longer. */
const mostTracedGas = 1_000_000n;

const limits: Readonly<Record<string, bigint>> = {
  eth_call: mostGas,
  eth_estimateGas: mostGas,
  debug_traceCall: mostTracedGas,
};

/** Whether a call runs arbitrary code for as long as its gas lasts. */
export function runsCode({ method }: Pick<RpcCall, 'method'>): boolean {
  return Object.hasOwn(limits, method);
}

/** Caps the gas of such a call, so that it cannot run without limit. */
export function limitCall(call: RpcCall): RpcCall {
  const most = runsCode(call) ? limits[call.method] : undefined;
  const [request, ...rest] = call.params;
  if (most === undefined || typeof request !== 'object' || request === null) return call;
  const { gas } = request as { gas?: unknown };
  if ((isQuantity(gas) ? BigInt(gas) : usualGas) <= most) return call;
  return { ...call, params: [{ ...request, gas: toHex(most) }, ...rest] };
}

/** EDR accepts more notations of numbers (decimal, `0X…`, `0b…`). Any other notation gets the cap. */
function isQuantity(value: unknown): value is Hex {
  return isHex(value) && value.length > 2;
}
