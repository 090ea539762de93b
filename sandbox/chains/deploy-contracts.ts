import { encodeFunctionData, type Hex, parseAbi } from 'viem';
import { multicallAddress } from '../../src/chains/abi.ts';
import { cctp } from '../../src/chains/cctp.ts';
import { chains } from '../../src/money/catalogue.ts';
import { placeCctp } from '../cctp/place-contracts.ts';
import { placeCoin } from '../coins/place-coin.ts';
import { setCode } from '../storage.ts';
import { askChain, isFree, requestAllAs } from './ask-chain.ts';
import { contractCode, fiatTokenAddress, signatureCheckerAddress } from './contract-code.ts';
import type { RpcCall } from './evm-node.ts';
import type { LocalChain } from './local-chain.ts';
import { mintAccount } from './mint-account.ts';
import { placeMintedToken, placeWrappedCoin } from './place-tokens.ts';
import { bridgedTokens, mintedTokens, wrappedCoins } from './tokens.ts';

const isMinterAbi = parseAbi(['function isMinter(address account) view returns (bool)']);

/** Places every contract that is missing, so that a later release can add more. */
export async function deployContracts(chain: LocalChain): Promise<void> {
  const calls: RpcCall[] = [];
  const isMissing = (address: Hex) => isFree(chain, address);
  if (await isMissing(multicallAddress)) {
    const code = await askChain<Hex>(chain, 'eth_call', [{ data: contractCode().multicallCreation }, 'latest']);
    calls.push(setCode(multicallAddress, code));
  }
  if (await isMissing(signatureCheckerAddress)) {
    calls.push(setCode(signatureCheckerAddress, contractCode().signatureChecker));
  }
  if (await isMissing(fiatTokenAddress)) calls.push(setCode(fiatTokenAddress, contractCode().fiatToken));
  const coin = wrappedCoins[chain.id];
  if (await isMissing(coin.address)) calls.push(...placeWrappedCoin(coin));
  for (const token of mintedTokens[chain.id]) {
    if (await isMissing(token.address)) calls.push(...placeMintedToken(token));
  }
  for (const token of bridgedTokens(chain.id)) {
    if (await isMissing(token.address)) calls.push(...placeCoin(token));
  }
  for (const [address, place] of placeCctp(chain.id)) {
    if (await isMissing(address)) calls.push(...place());
  }
  if (calls.length === 0) return;

  await requestAllAs(chain, mintAccount.address, calls, `a contract could not be placed on ${chain.id}`);
  for (const token of [...mintedTokens[chain.id], ...bridgedTokens(chain.id)]) {
    const data = encodeFunctionData({ abi: parseAbi(['function decimals() view returns (uint8)']) });
    const decimals = await askChain<Hex>(chain, 'eth_call', [{ to: token.address, data }, 'latest']);
    if (Number(decimals) !== token.decimals) throw new Error(`${token.symbol} on ${chain.id} was not set up`);
  }
  const isMinter = encodeFunctionData({ abi: isMinterAbi, args: [cctp.tokenMinter] });
  const mayMint = await askChain<Hex>(chain, 'eth_call', [
    { to: chains[chain.id].tokens.USDC, data: isMinter },
    'latest',
  ]);
  if (BigInt(mayMint) !== 1n) throw new Error(`the cross-chain protocol cannot mint on ${chain.id}`);
}
