/** Calls that change nothing. They go to the node at once. */
const reads = new Set([
  'debug_traceCall',
  'debug_traceTransaction',
  'eth_accounts',
  'eth_blobBaseFee',
  'eth_blockNumber',
  'eth_call',
  'eth_chainId',
  'eth_coinbase',
  'eth_estimateGas',
  'eth_feeHistory',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getBlockTransactionCountByHash',
  'eth_getBlockTransactionCountByNumber',
  'eth_getCode',
  'eth_getFilterChanges',
  'eth_getFilterLogs',
  'eth_getLogs',
  'eth_getProof',
  'eth_getStorageAt',
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionByBlockNumberAndIndex',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_maxPriorityFeePerGas',
  'eth_newBlockFilter',
  'eth_newFilter',
  'eth_newPendingTransactionFilter',
  'eth_pendingTransactions',
  'eth_syncing',
  'eth_uninstallFilter',
  'hardhat_getAutomine',
  'hardhat_metadata',
  'net_version',
  'web3_clientVersion',
  'web3_sha3',
]);

/** Calls that change the chain. They are written down before they are made. */
const writes = new Set([
  'eth_sendRawTransaction',
  'eth_sendTransaction',
  'evm_increaseTime',
  'evm_mine',
  'evm_revert',
  'evm_setAutomine',
  'evm_setNextBlockTimestamp',
  'evm_snapshot',
  'hardhat_dropTransaction',
  'hardhat_impersonateAccount',
  'hardhat_mine',
  'hardhat_setBalance',
  'hardhat_setCode',
  'hardhat_setNextBlockBaseFeePerGas',
  'hardhat_setNonce',
  'hardhat_setStorageAt',
  'hardhat_stopImpersonatingAccount',
  'sandbox_letTimePass',
]);

/** What other nodes call the same. */
const aliases: Readonly<Record<string, string>> = {
  anvil_dropTransaction: 'hardhat_dropTransaction',
  anvil_getAutomine: 'hardhat_getAutomine',
  anvil_impersonateAccount: 'hardhat_impersonateAccount',
  anvil_increaseTime: 'evm_increaseTime',
  anvil_mine: 'hardhat_mine',
  anvil_revert: 'evm_revert',
  anvil_setAutomine: 'evm_setAutomine',
  anvil_setBalance: 'hardhat_setBalance',
  anvil_setCode: 'hardhat_setCode',
  anvil_setNextBlockBaseFeePerGas: 'hardhat_setNextBlockBaseFeePerGas',
  anvil_setNextBlockTimestamp: 'evm_setNextBlockTimestamp',
  anvil_setNonce: 'hardhat_setNonce',
  anvil_setStorageAt: 'hardhat_setStorageAt',
  anvil_snapshot: 'evm_snapshot',
  anvil_stopImpersonatingAccount: 'hardhat_stopImpersonatingAccount',
  evm_setAccountBalance: 'hardhat_setBalance',
  evm_setAccountCode: 'hardhat_setCode',
  evm_setAccountNonce: 'hardhat_setNonce',
  evm_setAccountStorageAt: 'hardhat_setStorageAt',
};

export type MethodKind = 'read' | 'write' | 'unknown';

export function canonicalMethod(method: string): { readonly name: string; readonly kind: MethodKind } {
  const name = Object.hasOwn(aliases, method) ? (aliases[method] ?? method) : method;
  return { name, kind: reads.has(name) ? 'read' : writes.has(name) ? 'write' : 'unknown' };
}
