import { type Hex, isAddressEqual, zeroAddress } from 'viem';
import { findReceipt } from '../src/chains/find-receipt.ts';
import { createNetworks, tokenOf } from '../src/chains/network.ts';
import { transferIn } from '../src/chains/token-transfer.ts';
import { houseWallet } from '../src/custody/wallets/house-wallets.ts';
import type { Arrival } from '../src/custody/watch/arrival.ts';
import type { Database } from '../src/kernel/db/database.ts';
import type { Logger } from '../src/kernel/log/logger.ts';
import { houseAccount } from '../src/ledger/account-id.ts';
import type { Ledger } from '../src/ledger/ledger.ts';
import { postSurely } from '../src/ledger/post-surely.ts';
import { amountOf } from '../src/money/amount.ts';
import { homeChain } from '../src/money/catalogue.ts';
import { creditWithin } from '../src/payments/deposits/credit-deposits.ts';
import type { LocalChains } from './chains/local-chains.ts';

export interface FillFloatParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly logger: Logger;
  readonly chains: LocalChains;
}

/** What the house itself puts into the wallet that pays sellers. */
export const sandboxFloat = amountOf('USDC', 1_000_000_000n);

/** The mint and its posting go by one name, so a start that was interrupted between them is finished by the next. */
const name = 'float:purchases';

/**
 * In the sandbox nobody has to send a float to the wallet that pays sellers: it is minted, once; after a rotation it moves along.
 * Like what an operator sends it is surplus when it arrives, and the house's own in the same commit.
 */
export async function fillSandboxFloat({ db, ledger, logger, chains }: FillFloatParts): Promise<void> {
  const { rows } = await db.query('SELECT FROM ledger.posting_references WHERE reference = $1', [name]);
  if (rows.length > 0) return;
  const to = (await chains.faucet.find(name))?.to ?? (await houseWallet(db, 'purchases', homeChain)).address;
  const { asset, atomic } = sandboxFloat;
  const hash = await chains.faucet.mint({ id: name, chain: homeChain, asset: 'USDC', to, atomic });
  const arrival = await findArrival(chains, hash, to);
  await db.transaction(async (tx) => {
    await creditWithin(tx, { ledger, logger }, homeChain, [arrival]);
    await postSurely(tx, ledger, [
      {
        type: 'float',
        amount: sandboxFloat,
        entries: [
          { account: houseAccount('surplus', asset, homeChain), atomic: -atomic },
          { account: houseAccount('equity', asset, homeChain), atomic },
        ],
        reference: name,
      },
    ]);
  });
}

/** As whoever reads the chain would find it, before or after us. */
async function findArrival(chains: LocalChains, hash: Hex, to: Hex): Promise<Arrival> {
  const network = createNetworks(chains.settings).get(homeChain);
  const token = network && tokenOf(network, sandboxFloat.asset);
  const receipt = network && (await findReceipt(network.client, hash));
  if (token === undefined || receipt === undefined) throw new Error('the float was minted and is not to be found');
  const position = receipt.logs.findIndex((log) => {
    const transfer = transferIn(log, token);
    return transfer !== undefined && isAddressEqual(transfer.to, to);
  });
  return {
    ...sandboxFloat,
    accountId: null,
    sender: zeroAddress,
    recipient: to,
    txHash: hash,
    blockNumber: receipt.blockNumber,
    position,
    proofs: [],
  };
}
