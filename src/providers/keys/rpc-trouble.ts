import { BaseError, HttpRequestError, RpcRequestError, TimeoutError } from 'viem';
import { ProviderError } from '../../wallets/provider.ts';

/** What a chain's answer means for us. Nodes differ in codes and words, so both are looked at. */
export function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  const text = error instanceof BaseError ? `${error.shortMessage} ${error.details}` : String(error);
  if (isUnreachable(error)) {
    return new ProviderError('The chain does not answer.', {
      retryable: true,
      code: 'chain_unreachable',
      cause: error,
    });
  }
  if (/insufficient funds|enough funds|gas required exceeds allowance/i.test(text)) {
    return gasTankEmpty(error);
  }
  if (/revert/i.test(text) || revertDataOf(error) !== undefined) {
    return new ProviderError(`The contract refuses it: ${reasonIn(text)}.`, {
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

/** Once somebody has filled the wallet, the same call succeeds. */
export function gasTankEmpty(cause?: unknown): ProviderError {
  return new ProviderError('The wallet has not enough native coin to pay for gas.', {
    retryable: true,
    code: 'insufficient_gas',
    cause,
  });
}

function isUnreachable(error: unknown): boolean {
  if (!(error instanceof BaseError)) return error instanceof TypeError;
  return error.walk((inner) => inner instanceof HttpRequestError || inner instanceof TimeoutError) !== null;
}

function revertDataOf(error: unknown): unknown {
  if (!(error instanceof BaseError)) return undefined;
  const request = error.walk((inner) => inner instanceof RpcRequestError) as RpcRequestError | null;
  return request?.data;
}

function reasonIn(text: string): string {
  return (
    /reverted with reason string '([^']+)'/.exec(text)?.[1] ?? /reverted:? ([^\n]+)/.exec(text)?.[1] ?? 'it reverts'
  );
}

/** Asked to take a transaction that it has, or whose nonce is used up: no news, and no trouble. */
export function isAlreadyKnown(error: unknown): boolean {
  const text = error instanceof BaseError ? `${error.shortMessage} ${error.details}` : String(error);
  return /already known|already imported|known transaction|nonce too low|nonce has already been used|replacement.*underpriced|AlreadyKnown/i.test(
    text,
  );
}
