import { encodeFunctionData } from 'viem';
import { tokenAbi } from '../../chains/abi.ts';
import type { ContractCall, TokenSend } from './provider.ts';

/** A token transfer as the contract call that the chain sees. */
export function asContractCall(asked: TokenSend | ContractCall): ContractCall {
  if ('contract' in asked) return asked;
  const { token, to, atomic, ...rest } = asked;
  const data = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [to, atomic] });
  return { ...rest, contract: token, data };
}
