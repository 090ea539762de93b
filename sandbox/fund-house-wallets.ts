import { type Hex, isAddressEqual, zeroAddress } from 'viem';
import type { OpenSandboxOptions } from '../src/app/sandbox-port.ts';
import { findReceipt } from '../src/chains/find-receipt.ts';
import { createNetworks, tokenOf } from '../src/chains/network.ts';
import { transferIn } from '../src/chains/token-transfer.ts';
import { houseWallet } from '../src/custody/wallets/house-wallets.ts';
import type { Arrival } from '../src/custody/watch/read-transfers.ts';
import { houseAccount } from '../src/ledger/account-id.ts';
import { postOrThrow } from '../src/ledger/ledger.ts';
import { amountOf } from '../src/money/amount.ts';
import { homeChain } from '../src/money/catalogue.ts';
import { creditWithin } from '../src/payments/deposits/credit-deposits.ts';
import type { LocalChains } from './chains/local-chains.ts';

type FillFloatParts = Pick<OpenSandboxOptions, 'db' | 'ledger' | 'logger'> & { readonly chains: LocalChains };

/** The house's own money in the wallet that pays sellers. */
export const sandboxFloat = amountOf('USDC', 1_000_000_000n);

/** The mint and its posting share this name, so the next start finishes an interrupted one. */
const name = 'float:purchases';

/**
 * Mints the float of the wallet that pays sellers, once; a key rotation moves it along. Like an operator's transfer it arrives as
 * surplus, and the same commit books it as equity.
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
    await postOrThrow(tx, ledger, [
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

/** The arrival as the watcher would record it, whichever comes first. */
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
