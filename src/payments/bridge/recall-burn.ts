import { decodeFunctionData, type Hex, isAddressEqual, size, slice, zeroHash } from 'viem';
import { cctp, standardFinality, tokenMessengerAbi } from '../../chains/cctp.ts';
import { unexplainedCalls } from '../../custody/steps/unknown-calls.ts';
import { listHouseWallets } from '../../custody/wallets/house-wallets.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { chains } from '../../money/catalogue.ts';
import type { Bridge } from './bridge.ts';
import { findBurner } from './burner.ts';

export interface BurnTerms {
  readonly maxFee: bigint;
  readonly recipient: Hex;
}

/**
 * After a restore from a backup the amount may already be burned, on terms that were decided after the backup. If the wallet has sent an
 * unexplained burn that matches this bridge, the burn is requested on the same terms: then the provider recognises it, and the mint goes
 * where it is expected.
 */
export async function recallBurn(db: Queryable, bridge: Bridge): Promise<BurnTerms | undefined> {
  const { from: chain, to } = bridge;
  const { address: wallet } = await findBurner(db, bridge);
  const ours = (await listHouseWallets(db)).filter((one) => one.chain === to);
  for (const data of await unexplainedCalls(db, { chain, wallet, contract: cctp.tokenMessenger })) {
    const terms = readBurn(bridge, data);
    if (terms !== undefined && ours.some(({ address }) => isAddressEqual(address, terms.recipient))) return terms;
  }
  return undefined;
}

/** The terms of a burn, if it has exactly this amount and destination. */
function readBurn({ from, to, amount }: Bridge, data: Hex): BurnTerms | undefined {
  try {
    const { functionName, args } = decodeFunctionData({ abi: tokenMessengerAbi, data });
    if (functionName !== 'depositForBurn') return undefined;
    const [atomic, domain, recipient, token, caller, maxFee, finality] = args;
    const isAlike =
      atomic === amount.atomic &&
      domain === chains[to].domain &&
      isAddressEqual(token, chains[from].tokens.USDC) &&
      caller === zeroHash &&
      finality === standardFinality;
    return isAlike ? { maxFee, recipient: slice(recipient, size(recipient) - 20) } : undefined;
  } catch {
    // Another function of the contract.
    return undefined;
  }
}
