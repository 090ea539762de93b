import { BaseError, HttpRequestError, isHex, RpcRequestError, TimeoutError } from 'viem';
import { FeesAboveCeiling } from '../../../chains/gas-fee-ceiling.ts';
import { ProviderError } from '../../wallets/provider.ts';

/** Translates a node's error. Nodes differ in codes and wording, so both are checked. */
export function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  if (error instanceof FeesAboveCeiling) return aboveCeiling(error.message, error);
  const text = error instanceof BaseError ? `${error.shortMessage} ${error.details}` : String(error);
  if (isUnreachable(error)) {
    return new ProviderError('The chain does not answer.', {
      retryable: true,
      code: 'chain_unreachable',
      cause: error,
    });
  }
  if (/insufficient funds|enough funds|gas required exceeds allowance/i.test(text)) {
    return insufficientGas(error);
  }
  if (isBusy(error, text)) {
    return new ProviderError('The node limits our requests.', {
      retryable: true,
      code: 'chain_busy',
      retryAfterMs: 10_000,
      cause: error,
    });
  }
  if (isRevert(error, text)) {
    return new ProviderError(`The contract reverts: ${reasonIn(text)}.`, {
      retryable: false,
      code: 'rejected',
      cause: error,
    });
  }
  return new ProviderError(`The chain answered with an error: ${text.slice(0, 200)}`, {
    retryable: true,
    code: 'chain_error',
    cause: error,
  });
}

/** Succeeds once the wallet is funded. */
export function insufficientGas(cause?: unknown): ProviderError {
  return new ProviderError('The wallet does not have enough native coin for gas.', {
    retryable: true,
    code: 'insufficient_gas',
    cause,
  });
}

/** Nothing was signed. Fees may fall, another node may answer differently, or the operator raises the ceiling. */
export function aboveCeiling(why: string, cause?: unknown): ProviderError {
  return new ProviderError(`The fee is above the ceiling: ${why}.`, {
    retryable: true,
    code: 'above_ceiling',
    retryAfterMs: 30_000,
    cause,
  });
}

function isUnreachable(error: unknown): boolean {
  if (!(error instanceof BaseError)) return error instanceof TypeError;
  return error.walk((inner) => inner instanceof HttpRequestError || inner instanceof TimeoutError) !== null;
}

/** Nodes report rate limits in many ways, some with `data` like a contract's revert. */
function isBusy(error: unknown, text: string): boolean {
  const code = rpcErrorIn(error)?.code;
  return (
    code === -32_005 ||
    code === -32_007 ||
    code === 429 ||
    /rate.?limit|too many requests|limit exceeded|\b429\b/i.test(text)
  );
}

/** Only the contract's own answer: its error code, its revert data, or the usual wording. */
function isRevert(error: unknown, text: string): boolean {
  const rpc = rpcErrorIn(error);
  return rpc?.code === 3 || isHex(rpc?.data) || /execution reverted|reverted with/i.test(text);
}

function rpcErrorIn(error: unknown): RpcRequestError | undefined {
  if (!(error instanceof BaseError)) return undefined;
  return (error.walk((inner) => inner instanceof RpcRequestError) as RpcRequestError | null) ?? undefined;
}

function reasonIn(text: string): string {
  return (
    /reverted with reason string '([^']+)'/.exec(text)?.[1] ?? /reverted:? ([^\n]+)/.exec(text)?.[1] ?? 'it reverts'
  );
}

/** The node already has the transaction. */
export function isAlreadyKnown(error: unknown): boolean {
  const text = error instanceof BaseError ? `${error.shortMessage} ${error.details}` : String(error);
  return /already known|already imported|known transaction|nonce too low|replacement.*underpriced|AlreadyKnown/i.test(
    text,
  );
}
