/** Read calls go straight to the node. */
const reads = wordsOf(`
  debug_traceCall debug_traceTransaction eth_accounts eth_blobBaseFee eth_blockNumber eth_call eth_chainId
  eth_coinbase eth_estimateGas eth_feeHistory eth_gasPrice eth_getBalance eth_getBlockByHash eth_getBlockByNumber
  eth_getBlockTransactionCountByHash eth_getBlockTransactionCountByNumber eth_getCode eth_getFilterChanges
  eth_getFilterLogs eth_getLogs eth_getProof eth_getStorageAt eth_getTransactionByBlockHashAndIndex
  eth_getTransactionByBlockNumberAndIndex eth_getTransactionByHash eth_getTransactionCount eth_getTransactionReceipt
  eth_maxPriorityFeePerGas eth_newBlockFilter eth_newFilter eth_newPendingTransactionFilter eth_pendingTransactions
  eth_syncing eth_uninstallFilter hardhat_getAutomine hardhat_metadata net_version sandbox_awaitBlock
  web3_clientVersion web3_sha3
`);

/** Write calls are journaled first. */
const writes = wordsOf(`
  eth_sendRawTransaction eth_sendTransaction evm_increaseTime evm_mine evm_revert evm_setAutomine
  evm_setNextBlockTimestamp evm_snapshot hardhat_dropTransaction hardhat_impersonateAccount hardhat_mine
  hardhat_setBalance hardhat_setCode hardhat_setNextBlockBaseFeePerGas hardhat_setNonce hardhat_setStorageAt
  hardhat_stopImpersonatingAccount sandbox_letTimePass
`);

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Also accepts the names of Anvil and Ganache for the same methods. */
export function canonicalMethod(method: string): {
  readonly name: string;
  readonly kind: 'read' | 'write' | 'unknown';
} {
  const [, bare] = /^anvil_(\w+)$/.exec(method.replace(/^evm_setAccount/, 'anvil_set')) ?? [];
  const names = bare === undefined ? [method] : [`hardhat_${bare}`, `evm_${bare}`];
  const name = names.find((one) => reads.has(one) || writes.has(one)) ?? method;
  return { name, kind: reads.has(name) ? 'read' : writes.has(name) ? 'write' : 'unknown' };
}
